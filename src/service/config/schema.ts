import { z } from 'zod';
import { Network } from '../../config.ts';
import type { UnsetVariable } from './document.ts';

/** Where code runs: in sandboxed sessions on this machine, or on a Jupyter server. */
export const EXECUTION_METHODS = ['local', 'container'] as const;
export type ExecutionMethod = (typeof EXECUTION_METHODS)[number];

/** Which code needs approval: none, as the capability says, or all. */
export const GLOBAL_MODES = ['disabled', 'selective', 'all_capabilities'] as const;

/** Which code of the capability needs approval. `epics_writes` is the older name of `control_writes`. */
export const APPROVAL_MODES = ['disabled', 'all_code', 'control_writes', 'epics_writes'] as const;

export const EXECUTION_MODES = ['read_only', 'write_access'] as const;
export type ExecutionMode = (typeof EXECUTION_MODES)[number];

const Retries = z.int().min(0).max(20);
const Text = z.string().min(1);

const PythonExecutor = z.strictObject({
  max_generation_retries: Retries.default(3).describe('Retries after code that analysis refuses'),
  max_execution_retries: Retries.default(3).describe('Retries after code that fails when it runs'),
  execution_timeout_seconds: z.number().positive().max(86_400).default(600).describe('Time limit of one execution'),
  max_results_mb: z
    .int()
    .min(1)
    .max(256)
    .default(64)
    .describe('Size limit of `results` as JSON; a larger one fails the attempt'),
});

const modeShape = {
  network: Network.default(false).describe(
    'What sessions in this mode reach: `false`, `true`, or listed hosts (`allow`, `deny`, `log`)',
  ),
  environment: z
    .record(z.string().regex(/^[A-Za-z_]\w*$/u, 'must be the name of a variable'), z.string())
    .default({})
    .describe('Environment variables of sessions in this mode'),
};

const ReadOnlyMode = z.strictObject({
  kernel_name: Text.default('python3-epics-readonly').describe('Jupyter kernel, when the method is `container`'),
  allows_writes: z
    .literal(false)
    .default(false)
    .describe('Always false: this mode is for code that reads; see below for what enforces that'),
  requires_approval: z.boolean().default(false).describe('Ask before every execution in this mode'),
  ...modeShape,
});

const WriteAccessMode = z.strictObject({
  kernel_name: Text.default('python3-epics-write').describe('Jupyter kernel, when the method is `container`'),
  allows_writes: z.boolean().default(true).describe('False refuses all code that writes'),
  requires_approval: z.boolean().default(true).describe('Ask before every execution in this mode'),
  ...modeShape,
});

const Port = z.int().min(1).max(65_535);
const Token = Text.optional().describe('Its token; by default the variable `JUPYTER_TOKEN`, if it is set');
const Scheme = z.enum(['http', 'https']);

/** A separate server for one mode. */
const ModeServer = z
  .strictObject({
    jupyter_host: Text.optional().describe('Another server for this mode'),
    jupyter_port: Port.optional().describe('Its port'),
    jupyter_token: Token.describe('Its token'),
    jupyter_scheme: Scheme.optional().describe('Its scheme'),
  })
  .prefault({});

const Execution = z.strictObject({
  execution_method: z
    .enum(EXECUTION_METHODS)
    .default('local')
    .describe('`local`: sandboxed sessions on this machine. `container`: a Jupyter server. Never changed silently'),
  modes: z
    .strictObject({ read_only: ReadOnlyMode.prefault({}), write_access: WriteAccessMode.prefault({}) })
    .prefault({}),
  container: z
    .strictObject({
      jupyter_host: Text.default('localhost').describe('Host name of the Jupyter server'),
      jupyter_port: Port.default(8888).describe('Its port'),
      jupyter_token: Token,
      jupyter_scheme: Scheme.default('http').describe('`https` if the server uses it'),
      read_only: ModeServer,
      write_access: ModeServer,
    })
    .prefault({}),
  local: z
    .strictObject({
      python_env_path: Text.optional().describe(
        'Python environment or interpreter; by default the one that `vivarium setup` creates',
      ),
      memory_mb: z.int().min(16).default(1024).describe('Memory limit of the code'),
      mounts: z
        .array(z.strictObject({ source: Text, target: Text, writable: z.boolean().default(false) }))
        .default([])
        .describe('Files and directories of this machine that sessions see; never writable in the mode `read_only`'),
    })
    .prefault({}),
  code_generator: Text.default('basic').describe('Name of the generator that writes the code'),
  generators: z
    .record(Text, z.record(z.string(), z.unknown()))
    .default({})
    .describe('Settings of generators by name, passed to them unchanged'),
});

const Approval = z.strictObject({
  global_mode: z
    .enum(GLOBAL_MODES)
    .default('selective')
    .describe(
      '`disabled`: no code needs approval. `selective`: as each capability says. `all_capabilities`: all code does',
    ),
  capabilities: z
    .strictObject({
      python_execution: z
        .strictObject({
          enabled: z.boolean().default(true).describe('Whether Python code can need approval'),
          mode: z
            .enum(APPROVAL_MODES)
            .default('all_code')
            .describe('`disabled`, `all_code`, or `control_writes` (also `epics_writes`): only code that writes'),
          preview: z
            .boolean()
            .default(true)
            .describe('Run code in the sandbox before asking, to show what it does; only if the method is `local`'),
          expires_after_seconds: z
            .int()
            .positive()
            .optional()
            .describe('How long an approval waits for a decision; by default forever'),
        })
        .prefault({}),
    })
    .prefault({}),
});

/** A name as the analysis resolves it. `()` stands for an instance, `*` for any name, `=` for an assignment. */
const Pattern = z
  .string()
  .max(120)
  .regex(
    /^(?:\.|(?:\w+(?:\(\))?\.)*)(?:\w+|\*)=?$/u,
    'must be a name such as epics.caput, epics.PV().put, .set_value or epics.PV().value=',
  );
const PatternList = z.array(Pattern).max(500);

const ControlSystem = z.strictObject({
  writes_enabled: z.boolean().default(true).describe('False: no execution may write, whatever else is set'),
  limits_checking: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Check values against limits before they are written'),
      database_path: Text.optional().describe('JSON file with the limits of each channel; see below'),
      allow_unlisted_channels: z
        .boolean()
        .default(false)
        .describe('Whether channels that it does not list may be written'),
    })
    .prefault({}),
  patterns: z
    .strictObject({
      mode: z
        .enum(['extend', 'override'])
        .default('extend')
        .describe('Whether `write` and `read` extend the built-in names or replace them'),
      write: PatternList.default([]).describe(
        'What writes: `epics.caput`, `epics.PV().put`, `.set_value`, `epics.PV().value=`',
      ),
      read: PatternList.default([]).describe('What reads, in the same form'),
    })
    .prefault({}),
});

/** The schema of `config.yml`, with the key names of the file. */
export const ConfigurationSchema = z.strictObject({
  framework: z
    .strictObject({ python_executor: PythonExecutor.prefault({}), execution: Execution.prefault({}) })
    .prefault({}),
  approval: Approval,
  execution_control: z
    .strictObject({
      epics: z
        .strictObject({
          writes_enabled: z.boolean().default(false).describe('Whether code may write to the control system at all'),
        })
        .prefault({}),
      limits: z
        .strictObject({
          graph_recursion_limit: z
            .int()
            .positive()
            .default(100)
            .describe('Maximum number of graph steps for one request'),
        })
        .prefault({}),
    })
    .prefault({}),
  control_system: ControlSystem.prefault({}),
  models: z
    .strictObject({
      python_code_generator: z
        .strictObject({
          model_id: Text.optional().describe('Model that writes code'),
          base_url: z.url().optional().describe('OpenAI-compatible endpoint'),
          api_key: Text.optional().describe('Its key; write `${OPENAI_API_KEY}`, not the key'),
          temperature: z.number().min(0).max(2).optional().describe('Randomness of the model'),
          max_tokens: z.int().positive().optional().describe('Length limit of an answer'),
        })
        .prefault({}),
    })
    .prefault({}),
  file_paths: z
    .strictObject({
      agent_data_dir: Text.default('_agent_data').describe('Directory for everything that the service writes'),
      executed_python_scripts_dir: Text.default('executed_scripts').describe(
        'Directory of the record folders, inside `agent_data_dir`',
      ),
    })
    .prefault({}),
  langgraph: z
    .strictObject({
      storage_url: Text.optional().describe(
        '`postgresql://…` for several servers; by default SQLite in the data directory',
      ),
    })
    .prefault({}),
});

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** The content of the file, complete with all defaults. */
export type Configuration = DeepReadonly<z.infer<typeof ConfigurationSchema>> & {
  /** Variables that were not set when the file was read, in sections that only another execution method uses. */
  readonly unsetVariables?: readonly UnsetVariable[];
};
export type ModeConfiguration = Configuration['framework']['execution']['modes'][ExecutionMode];

/** A key of the configuration, for documentation and messages. */
export interface ConfigKey {
  /** The full name, such as `approval.global_mode`. */
  readonly name: string;
  /** Undefined if there is none. */
  readonly defaultValue: unknown;
  readonly description: string;
}

/** Every key of a schema that has a value, in order. */
export function keysOf(schema: z.ZodType, prefix = ''): ConfigKey[] {
  const { inner, defaultValue } = unwrap(schema);
  if (!(inner instanceof z.ZodObject)) return [{ name: prefix, defaultValue, description: schema.description ?? '' }];
  return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, child]) =>
    keysOf(child, prefix === '' ? name : `${prefix}.${name}`),
  );
}

/** The names of all keys and sections: `approval`, `approval.global_mode`… */
export function namesIn(keys: readonly ConfigKey[]): string[] {
  const names = keys.flatMap(({ name }) => name.split('.').map((_, end, parts) => parts.slice(0, end + 1).join('.')));
  return [...new Set(names)];
}

function unwrap(schema: z.ZodType): { inner: z.ZodType; defaultValue: unknown } {
  let inner: z.ZodType = schema;
  let defaultValue: unknown;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault || inner instanceof z.ZodOptional) {
    if (inner instanceof z.ZodDefault) ({ defaultValue } = inner.def);
    inner = inner.unwrap() as z.ZodType;
  }
  return { inner, defaultValue };
}

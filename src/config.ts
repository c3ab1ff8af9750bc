import path from 'node:path';
import { z } from 'zod';
import { defaultDataDir } from './data-dir.ts';
import { VivariumError } from './errors.ts';

const MEBIBYTE = 1 << 20;

/** How strongly sessions are confined, strongest first. `landlock` and `none` must be asked for in words. */
export const LEVELS = ['namespaces', 'landlock', 'none'] as const;
export type Level = (typeof LEVELS)[number];

/** Made once: what starts with us waits for each schema. */
const Positive = z.int().positive();
const NonNegative = z.int().nonnegative();

/** What one session, and one run in it, may use. */
export const Limits = z.strictObject({
  /** Longest one run may take. */
  timeoutMs: Positive.max(24 * 3_600_000).default(60_000),
  /** Time between the interrupt and the kill. */
  graceMs: NonNegative.default(500),
  /** Most processor time one run may use; null for no limit. */
  cpuMs: Positive.nullable().default(null),
  /** Resident memory of the session above the shared libraries. */
  memoryMb: z.int().min(16).default(1024),
  /** Processes and threads at the same time. */
  processes: Positive.default(64),
  /** Open files of one process. */
  openFiles: z.int().min(64).default(1024),
  /** Size of one file. */
  fileMb: Positive.default(512),
  /** Size of all files in the workspace. */
  workspaceMb: Positive.default(1024),
  /** Output kept of each stream of one run: its head and tail. */
  outputBytes: z.int().min(1024).default(MEBIBYTE),
  /** Size of the file that has all of an output too long to be told to a model; 0 for no such file. */
  spillMb: NonNegative.default(16),
  /** Largest workspace whose files `rollback` restores too. */
  rollbackMb: NonNegative.default(64),
});
export type Limits = Readonly<z.infer<typeof Limits>>;

const AbsolutePath = z.string().refine((value) => path.isAbsolute(value), 'must be an absolute path');

/** A file or directory of the host, shown inside the session because somebody asked for it. */
export const Mount = z.strictObject({
  /** Path on the host. */
  source: AbsolutePath,
  /** Path in the session. */
  target: z
    .string()
    .refine(
      (target) => path.isAbsolute(target) && path.normalize(target) === target,
      'must be an absolute, plain path',
    ),
  writable: z.boolean().default(false),
});
export type Mount = Readonly<z.infer<typeof Mount>>;

/** Variables of the environment in a session. */
export const Variables = z.record(
  z.string().regex(/^[A-Za-z_]\w*$/, 'must be a name of letters, digits and "_"'),
  z.string(),
);

/** The name of a client. */
export const ClientId = z.string().min(1).max(500);

/** Who asks. A client sees only what is its own; without a client the owner of the host asks, who sees everything. */
export const ClientOptions = z.strictObject({ clientId: ClientId.optional() });
export type ClientOptions = Readonly<z.input<typeof ClientOptions>>;

/** Everything that can be set, with its default and what it means. */
export const Config = z.strictObject({
  /** Environments, workspaces, caches. */
  dataDir: AbsolutePath,
  /** Interpreter to use instead of the one that `vivarium setup` made. */
  python: z.string().optional(),
  /** Walls; anything below `namespaces` is weaker. */
  isolation: z.enum(LEVELS).default('namespaces'),
  /** Use control groups where the machine has them. */
  cgroups: z.boolean().default(true),
  /** Libraries that every session finds imported already, if they are installed. */
  preload: z.array(z.string()).default(['numpy', 'pandas', 'matplotlib.pyplot']),
  /** Sessions kept warm, ready to be claimed. */
  poolSize: NonNegative.max(64).default(2),
  /** Quiet time after a run before its twin is made. */
  twinDelayMs: NonNegative.default(20),
  /** Size of /tmp in a session. */
  tmpMb: Positive.default(64),
  /** Most sessions at the same time. */
  maxSessions: Positive.default(200),
  /** Most sessions of one client. */
  maxSessionsPerClient: Positive.default(50),
  /** Runs that may wait for a busy session. */
  maxQueue: NonNegative.default(16),
  /** Idle time after which a session is closed. */
  idleMs: Positive.nullable().default(3_600_000),
  /** How long files that runs produced are kept. */
  artifactDays: z.number().positive().default(7),
  /** How much of them is kept, oldest first to go. */
  artifactMb: Positive.default(4096),
  /** What of the host a session sees unless it says otherwise. */
  mounts: z.array(Mount).readonly().default([]),
  /** Whether a session has the network of this machine unless it says so. */
  network: z.boolean().default(false),
  /** Variables of the environment of a session unless it gives its own. */
  environment: Variables.default({}),
  limits: Limits.prefault({}),
});
export type Config = Readonly<z.infer<typeof Config>>;
export type ConfigInput = Omit<z.input<typeof Config>, 'dataDir'> & { readonly dataDir?: string };

/** Parses outside input once, at a door. Everything inside receives a finished `Config`. */
export function parseConfig(input: ConfigInput, environment: NodeJS.ProcessEnv = process.env): Config {
  return parse(Config, { dataDir: defaultDataDir(environment), ...input });
}

/** Parses with a schema of ours; what is wrong becomes one readable error. */
export function parse<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new VivariumError(
    'CONFIG_INVALID',
    `${z.prettifyError(parsed.error)}\nAll options are listed in docs/options.md.`,
    {
      cause: parsed.error,
    },
  );
}

/** For a process that parses little: to compile a schema takes longer than to use it a few times as it is. */
export function leaveSchemasUncompiled(): void {
  z.config({ jitless: true });
}

/** Which model agents talk to, over the protocol of OpenAI. */
export const ModelConfig = z.strictObject({
  /** Name of the model. */
  model: z.string().min(1),
  /** Where its endpoint is, up to and including /v1. */
  baseUrl: z.url({ protocol: /^https?$/u }),
  /** Key that is sent along. */
  apiKey: z.string().min(1).optional(),
  temperature: z.number().nonnegative().optional(),
  /** Longest answer. */
  maxTokens: z.int().positive().optional(),
  /** How often a busy or failing endpoint is asked again. */
  maxRetries: z.int().nonnegative().max(10).default(3),
});
export type ModelConfig = Readonly<z.infer<typeof ModelConfig>>;
export type ModelConfigInput = Partial<z.input<typeof ModelConfig>>;

const OPENAI_URL = 'https://api.openai.com/v1';
const OPENAI_MODEL = 'gpt-4o-mini';

/** Options win over the variables of Vivarium, which win over those of OpenAI. */
export function parseModelConfig(input: ModelConfigInput, environment: NodeJS.ProcessEnv = process.env): ModelConfig {
  const { VIVARIUM_LLM_BASE_URL, VIVARIUM_LLM_API_KEY, VIVARIUM_LLM_MODEL } = environment;
  const { OPENAI_BASE_URL, OPENAI_API_KEY } = environment;
  const ownUrl = input.baseUrl ?? (VIVARIUM_LLM_BASE_URL || undefined);
  // A key of OpenAI goes to where its own variables say, never to another server.
  const isOpenAI = ownUrl === undefined || haveSameOrigin(ownUrl, OPENAI_BASE_URL || OPENAI_URL);
  const apiKey = input.apiKey ?? (VIVARIUM_LLM_API_KEY || (isOpenAI && OPENAI_API_KEY) || undefined);
  const baseUrl = ownUrl ?? (OPENAI_BASE_URL || undefined);
  if (baseUrl === undefined && apiKey === undefined) throw notConfigured('no model is set');
  const model = input.model ?? (VIVARIUM_LLM_MODEL || (baseUrl === undefined ? OPENAI_MODEL : undefined));
  if (model === undefined) throw notConfigured(`${baseUrl} is set, but not the name of the model`);
  return parse(ModelConfig, { ...input, model, baseUrl: baseUrl ?? OPENAI_URL, apiKey });
}

function haveSameOrigin(one: string, other: string): boolean {
  const origin = URL.parse(one)?.origin;
  return origin !== undefined && origin === URL.parse(other)?.origin;
}

function notConfigured(why: string): VivariumError {
  return new VivariumError(
    'LLM_NOT_CONFIGURED',
    `There is no model to talk to: ${why}. Set VIVARIUM_LLM_BASE_URL (such as http://localhost:11434/v1) and ` +
      'VIVARIUM_LLM_MODEL, with VIVARIUM_LLM_API_KEY if the endpoint wants a key; or OPENAI_API_KEY.',
  );
}

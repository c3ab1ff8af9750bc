import path from 'node:path';
import { z } from 'zod';
import { defaultDataDir } from './data-dir.ts';
import { VivariumError } from './errors.ts';

const MEBIBYTE = 1 << 20;

/** How strongly sessions are confined, strongest first. `landlock` and `none` are never chosen automatically. */
export const LEVELS = ['namespaces', 'landlock', 'none'] as const;
export type Level = (typeof LEVELS)[number];

/** Made once, because building schemas costs start-up time. */
const Positive = z.int().positive();
const NonNegative = z.int().nonnegative();

/** What one session, and one run in it, may use. */
export const Limits = z.strictObject({
  /** The longest time that one run may take. */
  timeoutMs: Positive.max(24 * 3_600_000).default(60_000),
  /** Time between the interrupt and the kill. */
  graceMs: NonNegative.default(500),
  /** The most processor time that one run may use; null for no limit. */
  cpuMs: Positive.nullable().default(null),
  /** Resident memory of the session, not counting the shared libraries. */
  memoryMb: z.int().min(16).default(1024),
  /** Processes and threads at the same time. */
  processes: Positive.default(64),
  /** Open files of one process. */
  openFiles: z.int().min(64).default(1024),
  /** Size of one file. */
  fileMb: Positive.default(512),
  /** Size of all files in the workspace and in /tmp. */
  workspaceMb: Positive.default(1024),
  /** How much output of each stream of one run is kept: its head and tail. */
  outputBytes: z.int().min(1024).default(MEBIBYTE),
  /** Size of the file that keeps an output that is too long for a model; 0 for no such file. */
  spillMb: NonNegative.default(16),
  /** The largest workspace whose files `rollback` restores as well. */
  rollbackMb: NonNegative.default(64),
});
export type Limits = Readonly<z.infer<typeof Limits>>;

const AbsolutePath = z.string().refine((value) => path.isAbsolute(value), 'must be an absolute path');

/** A file or directory of the machine that a session sees. */
export const Mount = z.strictObject({
  /** Path on the machine. */
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

/** Environment variables of a session. */
export const Variables = z.record(
  z.string().regex(/^[A-Za-z_]\w*$/, 'must be a name of letters, digits and "_"'),
  z.string(),
);

/** The name of a client. */
export const ClientId = z.string().min(1).max(500);

/** The client that makes a call. It sees only its own things. A call without a client comes from the host's owner, who sees everything. */
export const ClientOptions = z.strictObject({ clientId: ClientId.optional() });
export type ClientOptions = Readonly<z.input<typeof ClientOptions>>;

/** All settings of a host, with defaults and meaning. */
export const Config = z.strictObject({
  /** Holds environments, workspaces, caches and artifacts. */
  dataDir: AbsolutePath,
  /** The Python to use instead of the one that `vivarium setup` made. */
  python: z.string().optional(),
  /** How sessions are confined; anything but `namespaces` is weaker. */
  isolation: z.enum(LEVELS).default('namespaces'),
  /** Whether to use control groups where the machine has them. */
  cgroups: z.boolean().default(true),
  /** Libraries that are already imported when a session starts, if they are installed. */
  preload: z.array(z.string()).default(['numpy', 'pandas', 'matplotlib.pyplot']),
  /** The number of sessions that are kept ready for use. */
  poolSize: NonNegative.max(64).default(2),
  /** How long a session must be quiet after a run before its twin is made. */
  twinDelayMs: NonNegative.default(20),
  /** The most sessions at the same time. */
  maxSessions: Positive.default(200),
  /** The most sessions of one client. */
  maxSessionsPerClient: Positive.default(50),
  /** The most calls that may wait for a busy session. */
  maxQueue: NonNegative.default(16),
  /** The idle time after which a session is closed; null for never. */
  idleMs: Positive.nullable().default(3_600_000),
  /** How long artifacts are kept. */
  artifactDays: z.number().positive().default(7),
  /** The total size of artifacts; the oldest of the client with most of them are removed first. */
  artifactMb: Positive.default(4096),
  /** What a session sees of the machine unless it is given its own mounts. */
  mounts: z.array(Mount).readonly().default([]),
  /** Whether a session has the network of the machine unless it is given its own setting. */
  network: z.boolean().default(false),
  /** Environment variables of a session unless it is given its own. */
  environment: Variables.default({}),
  limits: Limits.prefault({}),
});
export type Config = Readonly<z.infer<typeof Config>>;
export type ConfigInput = Omit<z.input<typeof Config>, 'dataDir'> & { readonly dataDir?: string };

/** Parses input from outside once, at a door. Everything inside receives a complete `Config`. */
export function parseConfig(input: ConfigInput, environment: NodeJS.ProcessEnv = process.env): Config {
  return parse(Config, { dataDir: defaultDataDir(environment), ...input });
}

/** Parses with one of our schemas and turns everything that is wrong into one readable error. */
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

/** For a process that parses little: compiling a schema takes longer than using it uncompiled a few times. */
export function leaveSchemasUncompiled(): void {
  z.config({ jitless: true });
}

/** The model that agents use, over the OpenAI protocol. */
export const ModelConfig = z.strictObject({
  /** Name of the model. */
  model: z.string().min(1),
  /** The address of its endpoint, up to and including /v1. */
  baseUrl: z.url({ protocol: /^https?$/u }),
  /** The key that is sent with each request. */
  apiKey: z.string().min(1).optional(),
  temperature: z.number().nonnegative().optional(),
  /** The longest answer. */
  maxTokens: z.int().positive().optional(),
  /** How often a request to a busy or failing endpoint is repeated. */
  maxRetries: z.int().nonnegative().max(10).default(3),
});
export type ModelConfig = Readonly<z.infer<typeof ModelConfig>>;
export type ModelConfigInput = Partial<z.input<typeof ModelConfig>>;

const OPENAI_URL = 'https://api.openai.com/v1';
const OPENAI_MODEL = 'gpt-4o-mini';

/** Options win over the environment variables of Vivarium, which win over those of OpenAI. */
export function parseModelConfig(input: ModelConfigInput, environment: NodeJS.ProcessEnv = process.env): ModelConfig {
  const { VIVARIUM_LLM_BASE_URL, VIVARIUM_LLM_API_KEY, VIVARIUM_LLM_MODEL } = environment;
  const { OPENAI_BASE_URL, OPENAI_API_KEY } = environment;
  const ownUrl = input.baseUrl ?? (VIVARIUM_LLM_BASE_URL || undefined);
  // An OpenAI key is sent only to the server that the OpenAI variables name.
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
      'VIVARIUM_LLM_MODEL, and VIVARIUM_LLM_API_KEY if the endpoint requires a key; or set OPENAI_API_KEY.',
  );
}

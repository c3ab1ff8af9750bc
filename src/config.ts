import path from 'node:path';
import { z } from 'zod';
import { defaultDataDir } from './data-dir.ts';
import { VivariumError } from './errors.ts';
import { readNetworkEntry, type NetworkList } from './network/list.ts';

const MEBIBYTE = 1 << 20;

/** How strongly sessions are confined, strongest first. `landlock` and `none` are never chosen automatically. */
export const LEVELS = ['namespaces', 'landlock', 'none'] as const;
export type Level = (typeof LEVELS)[number];

/** Made once, because building schemas costs start-up time. */
const Positive = z.int().positive();
const NonNegative = z.int().nonnegative();

/** What one session, and one run in it, may use. */
export interface Limits {
  /** The longest time that one run may take. */
  readonly timeoutMs: number;
  /** Time between the interrupt and the kill. */
  readonly graceMs: number;
  /** The most processor time that one run may use; null for no limit. */
  readonly cpuMs: number | null;
  /** Processors that a session may use at the same time, 1.5 for example; null, the default, for all. */
  readonly cpus: number | null;
  /** Resident memory of the session, not counting the shared libraries. */
  readonly memoryMb: number;
  /** Processes and threads at the same time. */
  readonly processes: number;
  /** Open files of one process. */
  readonly openFiles: number;
  /** Size of one file. */
  readonly fileMb: number;
  /** Size of all files in the workspace and in /tmp. */
  readonly workspaceMb: number;
  /** How much output of each stream of one run is kept: its head and tail. */
  readonly outputBytes: number;
  /** Size of the file that keeps an output that is too long for a model; 0 for no such file. */
  readonly spillMb: number;
  /** The largest workspace whose files `rollback` restores as well. */
  readonly rollbackMb: number;
}

/** Written out as an interface as well: editors show its comments, and lose those of a schema. */
export const Limits = z.strictObject({
  timeoutMs: Positive.max(24 * 3_600_000).default(60_000),
  graceMs: NonNegative.default(500),
  cpuMs: Positive.nullable().default(null),
  cpus: z.number().min(0.1).max(4096).nullable().default(null),
  memoryMb: z.int().min(16).default(1024),
  processes: Positive.default(64),
  openFiles: z.int().min(64).default(1024),
  fileMb: Positive.default(512),
  workspaceMb: Positive.default(1024),
  outputBytes: z.int().min(1024).default(MEBIBYTE),
  spillMb: NonNegative.default(16),
  rollbackMb: NonNegative.default(64),
}) satisfies z.ZodType<Limits>;

/** Some of the limits. The others have their defaults. */
export type LimitsInput = { readonly [Name in keyof Limits]?: Limits[Name] | undefined };

const AbsolutePath = z.string().refine((value) => path.isAbsolute(value), 'must be an absolute path');

/** A file or directory of the machine that a session sees. */
export interface MountInput {
  /** Path on the machine. */
  readonly source: string;
  /** Path in the session. */
  readonly target: string;
  /** Whether code can change it; false by default. */
  readonly writable?: boolean | undefined;
}

export const Mount = z.strictObject({
  source: AbsolutePath,
  target: z
    .string()
    .refine(
      (target) => path.isAbsolute(target) && path.normalize(target) === target,
      'must be an absolute, plain path',
    ),
  writable: z.boolean().default(false),
});
/** A mount with its default filled in. */
export interface Mount extends MountInput {
  /** Whether code can change it. */
  readonly writable: boolean;
}

/** Environment variables of a session. */
export const Variables = z.record(
  z.string().regex(/^[A-Za-z_]\w*$/, 'must be a name of letters, digits and "_"'),
  z.string(),
);

/** The name of an environment. Whether there is one is seen when it is used. */
export const EnvironmentName = z.string({
  error: ({ input }) =>
    typeof input === 'object' ? 'must be the name of an environment; variables are given as `env`' : undefined,
});

const NetworkEntryText = z.string().superRefine((text, context) => {
  const entry = readNetworkEntry(text);
  if (typeof entry === 'string') context.addIssue({ code: 'custom', message: `${JSON.stringify(text)}: ${entry}` });
});

/** No network, that of the machine, or listed hosts. */
export const Network = z.union(
  [
    z.boolean(),
    z.strictObject({
      allow: z.array(NetworkEntryText).readonly(),
      deny: z.array(NetworkEntryText).readonly().default([]),
      log: z.boolean().default(true),
    }),
  ],
  { error: 'must be true, false, or an object with the list `allow`, and if needed `deny` and `log`' },
);
/** Whether a session has the network of the machine, none, or a way to listed hosts. */
export type NetworkInput = boolean | NetworkList;
/** The same with defaults filled in. */
export type NetworkSetting = boolean | Readonly<Exclude<z.infer<typeof Network>, boolean>>;

/** Secrets by the names of the variables that stand for them; see docs/network.md. */
export const Secrets = z.record(
  z.string().regex(/^[A-Za-z_]\w*$/, 'must be a name of letters, digits and "_"'),
  z.strictObject({
    value: z.string().regex(/^[\x20-\x7e]{1,8192}$/, 'must be 1 to 8192 printable ASCII characters'),
    hosts: z.array(NetworkEntryText).min(1).readonly(),
  }),
);
/** A value that no session sees, and the hosts that it is for. */
export interface SecretInput {
  /** What the gate puts into headers of plain HTTP requests, in the place of what the session knows. */
  readonly value: string;
  /** The hosts that get it, written as in `network.allow`; without a port, on port 80. */
  readonly hosts: readonly string[];
}

/** What the programs of a session may install: nothing, anything, or packages of these names; see docs/packages.md. */
export type PackagePolicy = 'none' | 'any' | readonly string[];

export const Packages = z.union([
  z.enum(['none', 'any']),
  z
    .array(
      z
        .string()
        .regex(/^[A-Za-z0-9](?:[\w.-]{0,198}[A-Za-z0-9])?$/, 'must be the name of a package, without a version'),
    )
    .readonly(),
]);

const IndexUrl = z.url({ protocol: /^https?$/u, error: 'must be an address that begins with https:// or http://' });

/** The name of a client. */
export const ClientId = z.string().min(1).max(500);

export const ClientOptions = z.strictObject({ clientId: ClientId.optional() });
/** The client that makes a call. It sees only its own things. A call without a client comes from the host's owner, who sees everything. */
export interface ClientOptions {
  /** The name of the client. */
  readonly clientId?: string | undefined;
}

/** All settings of a host. */
export interface ConfigInput {
  /** Holds environments, workspaces, caches and artifacts. Default: `$VIVARIUM_HOME`, or in the user's data directory. */
  readonly dataDir?: string;
  /** The Python to use instead of the one that `vivarium setup` made. */
  readonly python?: string | undefined;
  /** The named environment that sessions run on unless they name another; see docs/environments.md. */
  readonly environment?: string | undefined;
  /** How sessions are confined; anything but `namespaces`, the default, is weaker. */
  readonly isolation?: Level | undefined;
  /** Whether to use control groups where the machine has them; true by default. */
  readonly cgroups?: boolean | undefined;
  /** Libraries that are already imported when a session starts, if they are installed. */
  readonly preload?: readonly string[] | undefined;
  /** The number of sessions that are kept ready for use; 2 by default. */
  readonly poolSize?: number | undefined;
  /** How long a session must be quiet after a run before its twin is made. */
  readonly twinDelayMs?: number | undefined;
  /** The most sessions at the same time; 200 by default. */
  readonly maxSessions?: number | undefined;
  /** The most sessions of one client; 50 by default. */
  readonly maxSessionsPerClient?: number | undefined;
  /** The most calls that may wait for a busy session; 16 by default. */
  readonly maxQueue?: number | undefined;
  /** The idle time after which a session is closed, an hour by default; null for never. */
  readonly idleMs?: number | null | undefined;
  /** How long artifacts are kept; 7 by default. */
  readonly artifactDays?: number | undefined;
  /** The total size of artifacts; the oldest of the client with most of them are removed first. */
  readonly artifactMb?: number | undefined;
  /** What a session sees of the machine unless it is given its own mounts. */
  readonly mounts?: readonly MountInput[] | undefined;
  /** What a session reaches unless it says otherwise: nothing (false, the default), listed hosts, or all (true). */
  readonly network?: NetworkInput | undefined;
  /** Secrets that the gate sends to hosts in the place of a session whose network is a list. */
  readonly secrets?: Readonly<Record<string, SecretInput>> | undefined;
  /** Environment variables of a session unless it is given its own. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** What programs may install unless their session says otherwise: `none` (the default), `any`, or these names. */
  readonly packages?: PackagePolicy | undefined;
  /** Indexes that packages come from: the first that has a name decides. Default: the one that pip is configured for. */
  readonly packageIndexes?: readonly string[] | undefined;
  /** What one session, and one run in it, may use. */
  readonly limits?: LimitsInput | undefined;
}

export const Config = z.strictObject({
  dataDir: AbsolutePath,
  python: z.string().optional(),
  environment: EnvironmentName.optional(),
  isolation: z.enum(LEVELS).default('namespaces'),
  cgroups: z.boolean().default(true),
  preload: z.array(z.string()).default(['numpy', 'pandas', 'matplotlib.pyplot']),
  poolSize: NonNegative.max(64).default(2),
  twinDelayMs: NonNegative.default(20),
  maxSessions: Positive.default(200),
  maxSessionsPerClient: Positive.default(50),
  maxQueue: NonNegative.default(16),
  idleMs: Positive.nullable().default(3_600_000),
  artifactDays: z.number().positive().default(7),
  artifactMb: Positive.default(4096),
  mounts: z.array(Mount).readonly().default([]),
  network: Network.default(false),
  secrets: Secrets.default({}),
  env: Variables.default({}),
  packages: Packages.default('none'),
  packageIndexes: z.array(IndexUrl).min(1).readonly().optional(),
  limits: Limits.prefault({}),
});
export type Config = Readonly<z.infer<typeof Config>>;

/** Parses input from outside once, at a door. Everything inside receives a complete `Config`. */
export function parseConfig(input: ConfigInput, environment: NodeJS.ProcessEnv = process.env): Config {
  const config = parse(Config, { dataDir: defaultDataDir(environment), ...input });
  if (config.python === undefined || config.environment === undefined) return config;
  throw new VivariumError('CONFIG_INVALID', '`python` and `environment` both choose a Python. Give one of them.');
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

/** The model that agents use, over the OpenAI protocol. What is not given is taken from the environment. */
export interface ModelConfigInput {
  /** Name of the model. */
  readonly model?: string;
  /** The address of its endpoint, up to and including /v1. */
  readonly baseUrl?: string;
  /** The key that is sent with each request. */
  readonly apiKey?: string | undefined;
  /** How freely the model chooses its words; by default as its server does. */
  readonly temperature?: number | undefined;
  /** The longest answer. */
  readonly maxTokens?: number | undefined;
  /** How often a request to a busy or failing endpoint is repeated; 3 by default. */
  readonly maxRetries?: number | undefined;
}

export const ModelConfig = z.strictObject({
  model: z.string().min(1),
  baseUrl: z.url({ protocol: /^https?$/u }),
  apiKey: z.string().min(1).optional(),
  temperature: z.number().nonnegative().optional(),
  maxTokens: z.int().positive().optional(),
  maxRetries: z.int().nonnegative().max(10).default(3),
});
export type ModelConfig = Readonly<z.infer<typeof ModelConfig>>;

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

/** Where the sessions of a host live, if they live on a server. */
export interface ServerAddress {
  /** The address of a Vivarium server, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** A key of that server, if it has any. */
  readonly key?: string | undefined;
}

/** Options win over `VIVARIUM_URL` and `VIVARIUM_KEY`. Undefined if neither names a server. */
export function findServer(
  input: Partial<ServerAddress>,
  environment: NodeJS.ProcessEnv = process.env,
): ServerAddress | undefined {
  const { VIVARIUM_URL, VIVARIUM_KEY } = environment;
  const url = input.url ?? (VIVARIUM_URL || undefined);
  if (url === undefined) return undefined;
  // A key is sent only to the server that it was set for.
  const isItsServer = !VIVARIUM_URL || haveSameOrigin(url, VIVARIUM_URL);
  const key = input.key ?? ((isItsServer && VIVARIUM_KEY) || undefined);
  return { url, ...(key !== undefined && { key }) };
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

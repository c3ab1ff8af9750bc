import { z } from 'zod';
import {
  ClientId,
  EnvironmentName,
  Limits,
  Mount,
  Network,
  Packages,
  parse,
  Secrets,
  Variables,
  type Config,
  type ConfigInput,
  type MountInput,
  type NetworkInput,
  type PackagePolicy,
  type SecretInput,
} from '../config.ts';
import type { Echo, TableFormat } from '../engine/engine.ts';
import type { CommandOutput } from '../execution/command.ts';
import type { Listener } from '../execution/event.ts';
import type { Logger } from '../log.ts';
import type { JupyterEngineOptions } from '../engine/jupyter/engine.ts';

const ECHO = ['all', 'last', 'none'] as const satisfies readonly Echo[];

/** The settings of a host, and the defaults of its sessions. */
export interface HostOptions extends ConfigInput {
  /** Code that every session runs before its first run, and again whenever its interpreter had to be replaced. */
  readonly initCode?: string;
  /** Where sessions live: `'local'` (the default), or `{ jupyter: { url, token } }`; see docs/jupyter.md. */
  readonly engine?: EngineChoice;
  /** Gets an entry for each session that is opened or ends, and for each run; by default nobody does. */
  readonly log?: Logger;
  /** Whether entries have the code that ran and what it printed; false by default. */
  readonly logCode?: boolean;
  /** Aborting it gives up the start. */
  readonly signal?: AbortSignal;
}

/** Where the sessions of a host live: processes of this machine, or kernels of a Jupyter server (docs/jupyter.md). */
export type EngineChoice = 'local' | { readonly jupyter: JupyterAccess };

/** How a Jupyter server is reached. */
export type JupyterAccess = Omit<JupyterEngineOptions, 'signal'>;

/** The settings of a session. */
export interface SessionOptions {
  /** By default a random one. */
  readonly id?: string;
  /** Who owns the session. Other clients cannot see it. */
  readonly clientId?: string;
  /** Null: none, even if the host has init code. */
  readonly initCode?: string | null;
  /** Limits that differ from those of the host. */
  readonly limits?: Partial<Limits>;
  /** Replaces the mounts of the host, as do `network`, `secrets` and `env`. */
  readonly mounts?: readonly MountInput[];
  /** What code reaches: nothing, the network of the machine (true), or listed hosts; see docs/network.md. */
  readonly network?: NetworkInput;
  /** Secrets that the gate sends to hosts in the place of the session, whose network must be a list. */
  readonly secrets?: Readonly<Record<string, SecretInput>>;
  /** Code can read the files of the session but not change them; `/tmp` stays writable. */
  readonly readOnly?: boolean;
  /** The named environment whose Python and packages it has, instead of the host's; see docs/environments.md. */
  readonly environment?: string;
  /** Environment variables of the code. */
  readonly env?: Readonly<Record<string, string>>;
  /** What its programs may install: `none`, `any`, or packages of these names; see docs/packages.md. */
  readonly packages?: PackagePolicy;
  /** Which top-level expressions show their values: `all`, `last` (the default) or `none`. */
  readonly echo?: Echo;
  /** Null: never closed for being idle. */
  readonly idleMs?: number | null;
  /** Aborting it gives up opening the session, its init code included. */
  readonly signal?: AbortSignal;
}

/** The settings of one run. */
export interface RunOptions {
  /** Which top-level expressions show their values; by default as the session says. */
  readonly echo?: Echo;
  /** The longest time that the run may take; by default the limit of the session. */
  readonly timeoutMs?: number;
  /** What tracebacks call the code, up to 500 characters on one line. Default: `<cell 3>` for the third run. */
  readonly filename?: string;
  /** A variable whose value is returned as JSON in `execution.value`. */
  readonly resultVariable?: string;
  /** What `input()`, `sys.stdin` and commands of the run read, up to 10 MiB. Without it, `input()` raises an error. */
  readonly stdin?: string;
  /** Return matplotlib figures as SVG in addition to PNG. */
  readonly svg?: boolean;
  /** Removes a waiting run from the queue and stops a running one; both end as `cancelled`. */
  readonly signal?: AbortSignal;
  /** What to do while the session runs something else: wait (the default), or throw `SESSION_BUSY`. */
  readonly whenBusy?: 'queue' | 'refuse';
  /** The id of the execution; by default a random one. */
  readonly executionId?: string;
  /** Gets events as they happen, `done` last. The program waits while a promise that it returned is pending; if it throws, it is stopped. */
  readonly onEvent?: Listener;
}

/** The settings of a run whose events are the result. */
export type StreamedRunOptions = Omit<RunOptions, 'onEvent'>;

/** How a command of the system is run. */
export interface ExecOptions {
  /** The directory that it runs in, relative to the workspace, which is the default. */
  readonly cwd?: string;
  /** Environment variables besides those of the session. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads as its standard input, which is empty by default. */
  readonly input?: string | Uint8Array;
  /** Gets output when it arrives. The command waits while a promise that it returned is pending; if it throws, it is ended. */
  readonly onOutput?: (output: CommandOutput) => Promise<void> | void;
  /** The longest time that it may take; by default the limit of the session. Null: as long as the session. */
  readonly timeoutMs?: number | null;
  /** Aborting it ends the command. */
  readonly signal?: AbortSignal;
}

/** How a command of the system is started. */
export type SpawnOptions = Omit<ExecOptions, 'input'>;

/** Aborting stops the work itself, not only the waiting for it. */
export interface Cancellable {
  /** Aborting it stops the work. */
  readonly signal?: AbortSignal;
}

/** How a table is downloaded. */
export interface TableOptions extends Cancellable {
  /** The format of the file. */
  readonly format?: TableFormat;
}

/** The settings of a session for one run, and of that run. */
export type OnceOptions = Omit<SessionOptions, 'id' | 'idleMs' | 'signal'> & RunOptions;

/** Which session to run in: the one with this id, or that of a chat or client, which is opened if there is none. */
export interface KeyOptions {
  /** The id of a session that exists. */
  readonly id?: string;
  /** A name of your own for a session of the client. */
  readonly sessionId?: string;
  /** The chat whose session is meant. */
  readonly chatId?: string;
  /** The client whose session is meant. */
  readonly clientId?: string;
}

/** The id of a session, as a caller may choose it. */
export const Id = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,99}$/, 'must have 1 to 100 letters, digits, ".", "_" or "-", a letter or digit first');
/** Names whose session is meant: a chat, a client. */
export const Name = z.string().min(1).max(500);
/** The text is sent to the session in one message. */
export const MAX_STDIN_BYTES: number = 10 * 1024 * 1024;
export const runShape = {
  code: z.string(),
  echo: z.enum(ECHO).optional(),
  timeoutMs: Limits.shape.timeoutMs.unwrap().optional(),
  filename: z
    .string()
    .regex(/^[^\0\r\n\u2028\u2029\p{Cs}]{1,500}$/u, 'must have 1 to 500 characters, without NUL or line breaks')
    .optional(),
  resultVariable: z
    .string()
    .regex(/^[\p{L}_][\p{L}\p{N}_]*$/u, 'must be the name of a variable')
    .optional(),
  stdin: z
    .string()
    .refine((text) => Buffer.byteLength(text) <= MAX_STDIN_BYTES, 'must have up to 10 MiB; upload more as a file')
    .optional(),
  svg: z.boolean().optional(),
  signal: z.instanceof(AbortSignal).optional(),
  whenBusy: z.enum(['queue', 'refuse']).default('queue'),
  executionId: Id.optional(),
  onEvent: z.custom<Listener>((value) => typeof value === 'function', 'must be a function').optional(),
};

/** The code of a run with its options, checked. */
const ParsedRun = z.strictObject(runShape);
export type ParsedRun = Readonly<z.infer<typeof ParsedRun>>;

const StreamedRun = ParsedRun.omit({ onEvent: true });

const KeyedRun = z.strictObject({
  ...runShape,
  id: Name.optional(),
  sessionId: Name.optional(),
  chatId: Name.optional(),
  clientId: ClientId.optional(),
});

export function parseRun(code: string, options: RunOptions): ParsedRun {
  return parse(ParsedRun, { ...options, code });
}

export function parseStreamedRun(code: string, options: StreamedRunOptions): ParsedRun {
  return parse(StreamedRun, { ...options, code });
}

export function parseKeyedRun(code: string, options: RunOptions & KeyOptions): Readonly<z.infer<typeof KeyedRun>> {
  return parse(KeyedRun, { ...options, code });
}

const Text = z.string().regex(/^[^\0]*$/, 'must not contain NUL');

/** A command with its options, checked. */
const ParsedCommand = z.strictObject({
  argv: z.array(Text).min(1).readonly(),
  cwd: Text.min(1).optional(),
  env: z.record(z.string().regex(/^[^\0=]+$/, 'must be a name without "=" and NUL'), Text).optional(),
  input: z.union([z.string(), z.instanceof(Uint8Array)]).optional(),
  onOutput: z.custom<ExecOptions['onOutput']>((value) => typeof value === 'function', 'must be a function').optional(),
  timeoutMs: Limits.shape.timeoutMs.unwrap().nullable().optional(),
  signal: z.instanceof(AbortSignal).optional(),
});
export type ParsedCommand = Readonly<z.infer<typeof ParsedCommand>>;

export function parseCommand(argv: readonly string[], options: ExecOptions): ParsedCommand {
  return parse(ParsedCommand, { ...options, argv });
}

/** The settings of a session with every default filled in. */
export type SessionSettings = Readonly<z.infer<ReturnType<typeof settingsSchema>>>;

/** Fills in the settings of sessions with the defaults of one host. */
export class SettingsParser {
  readonly #session;
  readonly #created;
  readonly #once;
  readonly #usual: SessionSettings;

  constructor(config: Config, initCode: string | null) {
    this.#session = settingsSchema(config, initCode);
    this.#usual = parse(this.#session, {});
    this.#created = this.#session.extend({ signal: runShape.signal });
    this.#once = this.#session.omit({ id: true, idleMs: true }).extend(runShape);
  }

  parseSession(options: Omit<SessionOptions, 'signal'>): SessionSettings {
    return parse(this.#session, options);
  }

  /** The settings of `createSession`. */
  parseCreated(options: SessionOptions): { settings: SessionSettings; signal: AbortSignal | undefined } {
    if (Object.keys(options).length === 0) return { settings: this.#usual, signal: undefined }; // the usual case
    const { signal, ...settings } = parse(this.#created, options);
    return { settings, signal };
  }

  /** The settings of a session for one run, and that run. */
  parseOnce(code: string, options: OnceOptions): { settings: SessionSettings; run: ParsedRun } {
    const parsed = parse(this.#once, { ...options, code });
    const { code: runs, timeoutMs, filename, resultVariable, stdin, svg, ...others } = parsed;
    const { signal, whenBusy, executionId, onEvent, echo, ...settings } = others;
    return {
      settings: { ...settings, echo: echo ?? 'last', idleMs: null },
      run: { code: runs, timeoutMs, filename, resultVariable, stdin, svg, signal, whenBusy, executionId, onEvent },
    };
  }
}

function settingsSchema(config: Config, initCode: string | null) {
  return z.strictObject({
    id: Id.optional(),
    clientId: ClientId.optional(),
    initCode: z.string().nullable().default(initCode),
    limits: z.record(z.string(), z.unknown()).default({}).transform(overriding(config.limits)).pipe(Limits),
    mounts: z.array(Mount).readonly().default(config.mounts),
    network: Network.default(config.network),
    secrets: Secrets.default(config.secrets),
    readOnly: z.boolean().default(false),
    environment: EnvironmentName.optional(),
    env: Variables.default(config.env),
    packages: Packages.default(config.packages),
    echo: z.enum(ECHO).default('last'),
    idleMs: z.int().positive().nullable().default(config.idleMs),
  });
}

/** An option that is undefined counts as not given. */
function overriding(defaults: Limits): (given: Record<string, unknown>) => Record<string, unknown> {
  return (given) => ({
    ...defaults,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  });
}

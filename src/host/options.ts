import { z } from 'zod';
import { ClientId, Limits, Mount, parse, Variables, type Config, type ConfigInput } from '../config.ts';
import type { Echo, TableFormat } from '../engine/engine.ts';
import type { JupyterEngineOptions } from '../engine/jupyter/engine.ts';

const ECHO = ['all', 'last', 'none'] as const satisfies readonly Echo[];

/** The settings of a host, and the defaults of its sessions. */
export interface HostOptions extends ConfigInput {
  /** Code that every session runs before its first run, and again whenever its interpreter had to be replaced. */
  readonly initCode?: string;
  /** Where sessions live: `'local'` (the default), or `{ jupyter: { url, token } }`; see docs/jupyter.md. */
  readonly engine?: EngineChoice;
  /** Aborting it gives up the start. */
  readonly signal?: AbortSignal;
}

/** Where the sessions of a host live: processes of this machine, or kernels of a Jupyter server (docs/jupyter.md). */
export type EngineChoice = 'local' | { readonly jupyter: JupyterAccess };

export type JupyterAccess = Omit<JupyterEngineOptions, 'signal'>;

/** The settings of a session. */
export interface SessionOptions {
  readonly id?: string;
  readonly clientId?: string;
  /** Null: none, even if the host has init code. */
  readonly initCode?: string | null;
  readonly limits?: Partial<Limits>;
  /** Replaces the mounts of the host, as do `network` and `environment`. */
  readonly mounts?: readonly z.input<typeof Mount>[];
  readonly network?: boolean;
  /** Code can read the files of the session but not change them; `/tmp` stays writable. */
  readonly readOnly?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly echo?: Echo;
  /** Null: never closed for being idle. */
  readonly idleMs?: number | null;
  /** Aborting it gives up opening the session, its init code included. */
  readonly signal?: AbortSignal;
}

/** The settings of one run. */
export interface RunOptions {
  readonly echo?: Echo;
  readonly timeoutMs?: number;
  /** What tracebacks call the code, up to 500 characters on one line. Default: `<cell 3>` for the third run. */
  readonly filename?: string;
  /** A variable whose value is returned as JSON in `execution.value`. */
  readonly resultVariable?: string;
  /** Return matplotlib figures as SVG in addition to PNG. */
  readonly svg?: boolean;
  /** Removes a waiting run from the queue and stops a running one; both end as `cancelled`. */
  readonly signal?: AbortSignal;
  readonly whenBusy?: 'queue' | 'refuse';
}

/** Aborting stops the work itself, not only the waiting for it. */
export interface Cancellable {
  readonly signal?: AbortSignal;
}

export interface TableOptions extends Cancellable {
  readonly format?: TableFormat;
}

/** The settings of a session for one run, and of that run. */
export type OnceOptions = Omit<SessionOptions, 'id' | 'idleMs' | 'signal'> & RunOptions;

/** Which session to run in: the one with this id, or that of a chat or client, which is opened if there is none. */
export interface KeyOptions {
  readonly id?: string;
  readonly sessionId?: string;
  readonly chatId?: string;
  readonly clientId?: string;
}

/** The id of a session, as a caller may choose it. */
export const Id = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,99}$/, 'must have 1 to 100 letters, digits, ".", "_" or "-", a letter or digit first');
/** Names whose session is meant: a chat, a client. */
export const Name = z.string().min(1).max(500);
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
  svg: z.boolean().optional(),
  signal: z.instanceof(AbortSignal).optional(),
  whenBusy: z.enum(['queue', 'refuse']).default('queue'),
};

/** The code of a run with its options, checked. */
const ParsedRun = z.strictObject(runShape);
export type ParsedRun = Readonly<z.infer<typeof ParsedRun>>;

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

export function parseKeyedRun(code: string, options: RunOptions & KeyOptions): Readonly<z.infer<typeof KeyedRun>> {
  return parse(KeyedRun, { ...options, code });
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
    const { code: parsedCode, timeoutMs, filename, resultVariable, svg, signal, whenBusy, echo, ...settings } = parsed;
    return {
      settings: { ...settings, echo: echo ?? 'last', idleMs: null },
      run: { code: parsedCode, timeoutMs, filename, resultVariable, svg, signal, whenBusy },
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
    network: z.boolean().default(config.network),
    readOnly: z.boolean().default(false),
    environment: Variables.default(config.environment),
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

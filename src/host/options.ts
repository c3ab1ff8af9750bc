import { z } from 'zod';
import { Limits, Mount, parse, Variables, type Config, type ConfigInput } from '../config.ts';
import type { Echo } from '../engine/engine.ts';
import type { JupyterEngineOptions } from '../engine/jupyter/engine.ts';

const ECHO = ['all', 'last', 'none'] as const satisfies readonly Echo[];

/** How sessions of an interpreter begin unless they say otherwise, and where it and they get their settings. */
export interface HostOptions extends ConfigInput {
  /** Code that every session runs before its first run, and again when its state had to begin anew. */
  readonly initCode?: string;
  /** Run sessions as kernels of this Jupyter server, in place of processes of this machine; see docs/jupyter.md. */
  readonly jupyter?: Omit<JupyterEngineOptions, 'signal'>;
  /** Gives up starting. */
  readonly signal?: AbortSignal;
}

/** What a session is made with. */
export interface SessionOptions {
  readonly id?: string;
  readonly clientId?: string;
  /** Null: none, though the interpreter has one. */
  readonly initCode?: string | null;
  readonly limits?: Partial<Limits>;
  /** In place of those of the interpreter, as are `network` and `environment`. */
  readonly mounts?: readonly z.input<typeof Mount>[];
  readonly network?: boolean;
  /** Its files can be read and not changed by what runs in it; `/tmp` can be written. */
  readonly readOnly?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly echo?: Echo;
  /** Null: never closed for being idle. */
  readonly idleMs?: number | null;
  /** Gives up opening it, its init code included. */
  readonly signal?: AbortSignal;
}

/** What one run is asked for with. */
export interface RunOptions {
  readonly echo?: Echo;
  readonly timeoutMs?: number;
  /** A variable whose value comes back as `execution.value`, as JSON. */
  readonly resultVariable?: string;
  /** Figures of matplotlib as SVG too, besides PNG. */
  readonly svg?: boolean;
  /** Takes a waiting run out of the queue and stops a running one; both end as `cancelled`. */
  readonly signal?: AbortSignal;
  readonly whenBusy?: 'queue' | 'refuse';
}

/** A session that runs once, and its run. */
export type OnceOptions = Omit<SessionOptions, 'id' | 'idleMs' | 'signal'> & RunOptions;

/** Whose session to run in: an id that exists, or the session of a chat or client, opened if need be. */
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
  resultVariable: z
    .string()
    .regex(/^[\p{L}_][\p{L}\p{N}_]*$/u, 'must be the name of a variable')
    .optional(),
  svg: z.boolean().optional(),
  signal: z.instanceof(AbortSignal).optional(),
  whenBusy: z.enum(['queue', 'refuse']).default('queue'),
};

/** A run that was asked for, with its options checked. */
const Run = z.strictObject(runShape);
export type Run = Readonly<z.infer<typeof Run>>;

const KeyedRun = z.strictObject({
  ...runShape,
  id: Name.optional(),
  sessionId: Name.optional(),
  chatId: Name.optional(),
  clientId: Name.optional(),
});

export function parseRun(code: string, options: RunOptions): Run {
  return parse(Run, { ...options, code });
}

export function parseKeyedRun(code: string, options: RunOptions & KeyOptions): Readonly<z.infer<typeof KeyedRun>> {
  return parse(KeyedRun, { ...options, code });
}

/** What a session is made with when nothing is left open. */
export type Settings = Readonly<z.infer<ReturnType<typeof settingsSchema>>>;

/** Settings of sessions, with the defaults of one interpreter. */
export class SettingsParser {
  readonly #session;
  readonly #created;
  readonly #once;
  readonly #usual: Settings;

  constructor(config: Config, initCode: string | null) {
    this.#session = settingsSchema(config, initCode);
    this.#usual = parse(this.#session, {});
    this.#created = this.#session.extend({ signal: runShape.signal });
    this.#once = this.#session.omit({ id: true, idleMs: true }).extend(runShape);
  }

  parseSession(options: Omit<SessionOptions, 'signal'>): Settings {
    return parse(this.#session, options);
  }

  /** A session that somebody waits for. */
  parseCreated(options: SessionOptions): { settings: Settings; signal: AbortSignal | undefined } {
    if (Object.keys(options).length === 0) return { settings: this.#usual, signal: undefined }; // as most are
    const { signal, ...settings } = parse(this.#created, options);
    return { settings, signal };
  }

  /** A session that runs once: what it is made with, and what runs in it. */
  parseOnce(code: string, options: OnceOptions): { settings: Settings; run: Run } {
    const parsed = parse(this.#once, { ...options, code });
    const { code: parsedCode, timeoutMs, resultVariable, svg, signal, whenBusy, echo, ...settings } = parsed;
    return {
      settings: { ...settings, echo: echo ?? 'last', idleMs: null },
      run: { code: parsedCode, timeoutMs, resultVariable, svg, signal, whenBusy },
    };
  }
}

function settingsSchema(config: Config, initCode: string | null) {
  return z.strictObject({
    id: Id.optional(),
    clientId: Name.optional(),
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

/** An option that is undefined is one that was not given. */
function overriding(defaults: Limits): (given: Record<string, unknown>) => Record<string, unknown> {
  return (given) => ({
    ...defaults,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  });
}

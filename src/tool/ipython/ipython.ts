import path from 'node:path';
import { Limits, parse } from '../../config.ts';
import { Transcript } from '../../execution/transcript.ts';
import type { Execution } from '../../execution/execution.ts';
import { createInterpreter, type Interpreter } from '../../session/interpreter.ts';
import { resolveKey } from '../../session/keys.ts';
import type { InterpreterOptions, SessionOptions } from '../../session/options.ts';
import type { Session } from '../../session/session.ts';
import { extractCode } from '../../text/extract-code.ts';
import { ActionReturn, ActionStatusCode } from '../action/action-return.ts';
import { BaseAction, type ActionOptions } from '../action/base-action.ts';
import type { ActionDescription } from '../action/description.ts';
import type { Arguments } from '../action/parsers.ts';
import { changeDirectory, resolveDirectory } from '../host-directory.ts';
import { LazyEngine } from '../lazy-engine.ts';
import { LazySession } from '../lazy-session.ts';
import type { CallContext, CallOptions, Tool } from '../tool.ts';
import { describeNotebook, OWN_DESCRIPTION } from './description.ts';
import { DEFAULT_WORK_DIR } from './images.ts';
import { withoutNotebookLines } from './notebook-lines.ts';
import { describeFailure, describeLoss, render } from './rendering.ts';
import { startCodeWith } from './start-code.ts';
import { ipythonTool } from './tool.ts';

export interface IPythonOptions extends ActionOptions {
  /** Seconds that a run may take. */
  readonly timeout?: number;
  /** A directory of the host whose files the code may read, and where it starts; `ENV` for what `USER_DATA_DIR` names. */
  readonly userDataDir?: string | null;
  readonly user_data_dir?: string | null;
  /** Where output images are written. */
  readonly workDir?: string;
  readonly work_dir?: string;
  /** Lets the code write in the user data directory too. */
  readonly userDataWritable?: boolean;
  /** Shared; without it the action starts one of its own. */
  readonly engine?: Interpreter;
}

/** What a run gave, and the execution behind it. */
export interface IPythonRun {
  readonly returned: ActionReturn;
  readonly execution: Execution;
}

const OUTPUT_BYTES = Limits.shape.outputBytes.parse(undefined);

/** So many conversations whose session has ended are remembered, to be told of it when they come back. */
const MAX_ENDED = 1000;

/** Runs Python in a notebook's manner: variables stay, the value of the last expression is shown, images become files. */
export class IPythonInterpreter extends BaseAction implements AsyncDisposable {
  readonly timeout: number;
  readonly workDir: string;
  readonly #options: IPythonOptions;
  readonly #engine: LazyEngine;
  readonly #sessions = new Map<string, LazySession>();

  constructor(options: IPythonOptions = {}) {
    super(OWN_DESCRIPTION, options);
    this.timeout = options.timeout ?? 20;
    limitMs(this.timeout); // a limit that is none is refused here, not at the first run
    this.workDir = path.resolve(options.workDir ?? options.work_dir ?? DEFAULT_WORK_DIR);
    this.#options = options;
    this.#engine = new LazyEngine(options.engine);
  }

  /** Starts an interpreter and a session in it. Who starts them closes the first. */
  static async startKernel(options: InterpreterOptions = {}): Promise<[manager: Interpreter, client: Session]> {
    const manager = await createInterpreter(options);
    return [manager, await manager.createSession({ initCode: startCodeWith('') })];
  }

  static start_kernel(options?: InterpreterOptions): Promise<[manager: Interpreter, client: Session]> {
    return IPythonInterpreter.startKernel(options);
  }

  /** Says only what holds: the real limit, and what is known of the place that code runs in. */
  override get description(): ActionDescription {
    const own = super.description;
    if (this.#options.description) return own;
    return { ...own, description: describeNotebook(this.timeout, this.#engine.known, this.#userDataDir()) };
  }

  /** Opens the session now rather than with the first run. */
  async initialize(context: CallContext = {}): Promise<void> {
    await this.#sessionOf(context).get();
  }

  /** A fresh interpreter; files stay. */
  async reset(context: CallContext = {}): Promise<void> {
    const session = this.#sessionOf(context);
    if (session.isBegun) await (await session.get()).reset();
    else await session.get();
  }

  /** Runs code, which may stand in fences or prose; `timeout` in seconds, else that of the action. */
  async run(command: string, timeout?: number | null, options: CallOptions = {}): Promise<ActionReturn> {
    return (await this.execute(command, timeout ?? this.timeout, options)).returned;
  }

  /** `run` for callers who want exceptions: a limit that was reached is a `TimeoutError`. */
  async runOrThrow(command: string, timeout?: number | null, options: CallOptions = {}): Promise<ActionReturn> {
    const { returned, execution } = await this.execute(command, timeout ?? this.timeout, options);
    if (returned.errmsg === null) return returned;
    throw execution.outcome.status === 'timed-out' ? new TimeoutError(returned.errmsg) : new Error(returned.errmsg);
  }

  /** `run`, together with the execution that the answer was made from. */
  async execute(command: string, timeout: number, { signal, context = {} }: CallOptions = {}): Promise<IPythonRun> {
    const code = withoutNotebookLines(extractCode(command));
    const timeoutMs = limitMs(timeout);
    const lazy = this.#sessionOf(context);
    const session = await lazy.get();
    const loss = lazy.takeLoss();
    const transcript = new Transcript(OUTPUT_BYTES);
    for await (const event of session.stream(code, { echo: 'last', timeoutMs, ...(signal && { signal }) })) {
      transcript.add(event);
    }
    const execution = transcript.execution();
    const { text: shown, images } = await render(transcript.items(), this.workDir);
    const text = loss === null ? shown : `[${loss}]\n${shown}`;
    const errmsg = describeFailure(execution, text, timeout);
    const args = { text: command };
    if (errmsg === null) {
      const content = [text, describeLoss(execution)].filter((part) => part !== '').join('\n');
      return {
        returned: new ActionReturn({ args, type: this.name, result: [{ type: 'text', content }, ...images] }),
        execution,
      };
    }
    const result = images.length > 0 ? images : null; // what was drawn before the error is there
    const returned = new ActionReturn({ args, type: this.name, result, errmsg, state: ActionStatusCode.API_ERROR });
    return { returned, execution };
  }

  /** The action as a tool that any agent can call; each chat or client has a session of its own. */
  toTool(): Tool {
    return ipythonTool(this);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
    await this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected override perform(_: string, { command, timeout }: Arguments): Promise<ActionReturn> {
    if (typeof command !== 'string') throw new TypeError('command must be a string of Python code.');
    if (timeout != null && typeof timeout !== 'number') throw new TypeError('timeout must be a number of seconds.');
    return this.run(command, timeout);
  }

  #sessionOf(context: CallContext): LazySession {
    const key = resolveKey(context);
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const session = new LazySession(async () => {
      const engine = await this.#engine.get();
      return engine.createSession(await this.#sessionOptions());
    });
    this.#sessions.set(key, session);
    this.#forgetOldest();
    return session;
  }

  #forgetOldest(): void {
    const ended = [...this.#sessions].filter(([, session]) => session.isEnded);
    for (const [key] of ended.slice(0, -MAX_ENDED)) this.#sessions.delete(key);
  }

  async #sessionOptions(): Promise<SessionOptions> {
    const named = this.#userDataDir();
    if (named === '') return { initCode: startCodeWith('') };
    const directory = await resolveDirectory('user_data_dir', named);
    const { userDataWritable: writable = false } = this.#options;
    return {
      initCode: startCodeWith(changeDirectory(directory)),
      mounts: [{ source: directory, target: directory, writable }],
    };
  }

  #userDataDir(): string {
    const { userDataDir, user_data_dir: snake } = this.#options;
    const named = userDataDir === undefined ? snake : userDataDir;
    return named === undefined || named === 'ENV' ? userDataDirOf() : (named ?? '');
  }
}

/** A run took longer than it may. Thrown only to callers who asked for exceptions. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** Read at a door of the library, where the original reads it, and nowhere else. */
function userDataDirOf(environment: NodeJS.ProcessEnv = process.env): string {
  return environment['USER_DATA_DIR'] ?? '';
}

function limitMs(timeout: number): number {
  return parse(Limits.shape.timeoutMs.unwrap(), Math.ceil(timeout * 1000));
}

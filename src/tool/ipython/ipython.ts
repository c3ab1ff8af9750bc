import { Limits } from '../../config.ts';
import { Transcript } from '../../execution/transcript.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local-host.ts';
import { resolveKey } from '../../host/keys.ts';
import type { HostOptions, SessionOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import { extractCode } from '../../text/extract-code.ts';
import { ActionReturn, ActionStatusCode } from '../action/action-return.ts';
import { BaseAction } from '../action/base-action.ts';
import type { ActionDescription } from '../action/description.ts';
import type { Arguments } from '../action/parsers.ts';
import { isAnswer } from '../answers.ts';
import { readContext } from '../context.ts';
import { resolveAccess, weakWalls } from '../place/access.ts';
import { changeDirectory, resolveDirectory } from '../place/host-directory.ts';
import { LazyEngine } from '../place/lazy-engine.ts';
import { LazySession } from '../place/lazy-session.ts';
import type { CallContext, CallOptions, Tool } from '../tool.ts';
import { describeNotebook, OWN_DESCRIPTION } from './description.ts';
import { withoutNotebookLines } from './notebook-lines.ts';
import { limitMs, parseIPython, type IPythonOptions, type IPythonSettings } from './options.ts';
import { describeFailure, describeLoss, render } from './rendering.ts';
import { startCodeWith } from './start-code.ts';
import { ipythonTool } from './tool.ts';

/** What a run gave, and the execution behind it; without one nothing ran. */
export interface IPythonRun {
  readonly returned: ActionReturn;
  readonly execution?: Execution;
  /** Why the variables from before are gone, if they are. */
  readonly loss: string | null;
}

const OUTPUT_BYTES = Limits.shape.outputBytes.parse(undefined);

/** So many conversations whose session has ended are remembered, to be told of it when they come back. */
const MAX_ENDED = 1000;

/** Runs Python in a notebook's manner: variables stay, the value of the last expression is shown, images become files. */
export class IPythonInterpreter extends BaseAction implements AsyncDisposable {
  readonly timeout: number;
  readonly workDir: string;
  readonly #settings: IPythonSettings;
  readonly #isDescribed: boolean;
  readonly #engine: LazyEngine;
  readonly #sessions = new Map<string, LazySession>();

  constructor(options: IPythonOptions = {}) {
    super(OWN_DESCRIPTION, options);
    this.#settings = parseIPython(options);
    this.timeout = this.#settings.timeout;
    this.workDir = this.#settings.workDir;
    this.#isDescribed = Boolean(options.description);
    this.#engine = new LazyEngine(options.engine ?? undefined);
  }

  /** Starts an interpreter and a session in it. Who starts them closes the first. */
  static async startKernel(options: HostOptions = {}): Promise<[manager: Host, client: Session]> {
    const manager = await createHost(options);
    return [manager, await manager.createSession({ initCode: startCodeWith('') })];
  }

  static start_kernel(options?: HostOptions): Promise<[manager: Host, client: Session]> {
    return IPythonInterpreter.startKernel(options);
  }

  /** Says only what holds: the real limit, and what is known of the place that code runs in. */
  override get description(): ActionDescription {
    const own = super.description;
    if (this.#isDescribed) return own;
    return { ...own, description: describeNotebook(this.#settings, this.#engine.known) };
  }

  /** Opens the session now rather than with the first run. */
  async initialize(context?: CallContext): Promise<void> {
    await this.#sessionOf(context).get();
  }

  /** A fresh interpreter; files stay. */
  async reset(context?: CallContext): Promise<void> {
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
    const { returned, execution } = await this.#execute(command, timeout ?? this.timeout, options);
    if (returned.errmsg === null) return returned;
    throw execution?.outcome.status === 'timed-out' ? new TimeoutError(returned.errmsg) : new Error(returned.errmsg);
  }

  /** `run`, together with the execution that the answer was made from. */
  async execute(command: string, timeout: number, options: CallOptions = {}): Promise<IPythonRun> {
    try {
      return await this.#execute(command, timeout, options);
    } catch (error) {
      if (!isAnswer(error)) throw error;
      const failure = { errmsg: error.message, state: ActionStatusCode.API_ERROR };
      return { returned: new ActionReturn({ args: { text: command }, type: this.name, ...failure }), loss: null };
    }
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

  async #execute(command: string, timeout: number, { signal, context }: CallOptions): Promise<IPythonRun> {
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
    const common = { args: { text: command }, type: this.name, ...weakWalls(execution.isolation) };
    if (errmsg === null) {
      const content = [text, describeLoss(execution)].filter((part) => part !== '').join('\n');
      return {
        returned: new ActionReturn({ ...common, result: [{ type: 'text', content }, ...images] }),
        execution,
        loss,
      };
    }
    const result = images.length > 0 ? images : null; // what was drawn before the error is there
    const returned = new ActionReturn({ ...common, result, errmsg, state: ActionStatusCode.API_ERROR });
    return { returned, execution, loss };
  }

  #sessionOf(context: CallContext | undefined): LazySession {
    const key = resolveKey(readContext(context));
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const session = new LazySession(async () => {
      const engine = await this.#engine.get();
      return engine.createSession(await this.#sessionOptions(engine));
    });
    this.#sessions.set(key, session);
    this.#forgetOldest();
    return session;
  }

  #forgetOldest(): void {
    const ended = [...this.#sessions].filter(([, session]) => session.isEnded);
    for (const [key] of ended.slice(0, -MAX_ENDED)) this.#sessions.delete(key);
  }

  async #sessionOptions(engine: Host): Promise<SessionOptions> {
    const { userDataDir, userDataWritable: writable, access } = this.#settings;
    const named = userDataDir();
    if (named === '') return { initCode: startCodeWith(''), ...resolveAccess(access, engine) };
    const directory = await resolveDirectory('user_data_dir', named);
    return {
      initCode: startCodeWith(changeDirectory(directory)),
      ...resolveAccess(access, engine, { mounts: [{ source: directory, target: directory, writable }] }),
    };
  }
}

/** A run took longer than it may. Thrown only to callers who asked for exceptions. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

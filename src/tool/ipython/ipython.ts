import { Limits } from '../../config.ts';
import { Transcript } from '../../execution/transcript.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import { resolveKey } from '../../host/keys.ts';
import type { HostOptions, SessionOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import { extractCode } from '../../text/code/extract-code.ts';
import { changeDirectory } from '../../text/code/python-code.ts';
import { resolveAccess, resolveDirectory, weakIsolation } from '../access.ts';
import { BaseAction } from '../action/actions.ts';
import { ActionReturn, ActionStatusCode, type ActionDescription } from '../action/contract.ts';
import type { ActionArguments } from '../action/parsers.ts';
import { isRefusal, readContext } from '../call.ts';
import { LazyHost, LazySession } from '../lazy.ts';
import type { CallContext, CallOptions, Tool } from '../tool.ts';
import { describeNotebook, OWN_DESCRIPTION } from './description.ts';
import { startCodeWith, withoutNotebookLines } from './notebook-code.ts';
import { limitMs, parseIPython, type IPythonOptions, type IPythonSettings } from './options.ts';
import { describeFailure, describeLoss, render } from './output.ts';
import { ipythonTool } from './tool.ts';

/** The result of a run, and its execution if the code ran. */
export interface IPythonRun {
  readonly returned: ActionReturn;
  readonly execution?: Execution;
  /** Why the variables of earlier runs are gone, if they are. */
  readonly loss: string | null;
}

const OUTPUT_BYTES = Limits.shape.outputBytes.parse(undefined);

/** Conversations with an ended session that are remembered, so that they can be told when they come back. */
const MAX_ENDED = 1000;

/** Runs Python like a notebook: variables stay, the value of the last expression is shown, figures become files. */
export class IPythonInterpreter extends BaseAction implements AsyncDisposable {
  readonly timeout: number;
  readonly workDir: string;
  readonly #settings: IPythonSettings;
  readonly #isDescribed: boolean;
  readonly #host: LazyHost;
  readonly #sessions = new Map<string, LazySession>();

  constructor(options: IPythonOptions = {}) {
    super(OWN_DESCRIPTION, options);
    this.#settings = parseIPython(options);
    this.timeout = this.#settings.timeout;
    this.workDir = this.#settings.workDir;
    this.#isDescribed = Boolean(options.description);
    this.#host = new LazyHost(options.host ?? undefined);
  }

  /** Starts a host and a session on it. The caller closes the host. */
  static async startKernel(options: HostOptions = {}): Promise<[manager: Host, client: Session]> {
    const manager = await createHost(options);
    return [manager, await manager.createSession({ initCode: startCodeWith('') })];
  }

  static start_kernel(options?: HostOptions): Promise<[manager: Host, client: Session]> {
    return IPythonInterpreter.startKernel(options);
  }

  /** States the actual limit, and what is known about the host. */
  override get description(): ActionDescription {
    const own = super.description;
    if (this.#isDescribed) return own;
    return { ...own, description: describeNotebook(this.#settings, this.#host.known) };
  }

  /** Opens the session now instead of with the first run. */
  async initialize(context?: CallContext): Promise<void> {
    await this.#sessionOf(context).get();
  }

  /** Starts a fresh interpreter. Files stay. */
  async reset(context?: CallContext): Promise<void> {
    const session = this.#sessionOf(context);
    if (session.isStarted) await (await session.get()).reset();
    else await session.get();
  }

  /** Runs code, which may be in fences or in prose. `timeout` is in seconds and defaults to that of the action. */
  async run(command: string, timeout?: number | null, options: CallOptions = {}): Promise<ActionReturn> {
    return (await this.execute(command, timeout ?? this.timeout, options)).returned;
  }

  /** Same as `run`, but throws errors; a timeout is a `TimeoutError`. */
  async runOrThrow(command: string, timeout?: number | null, options: CallOptions = {}): Promise<ActionReturn> {
    const { returned, execution } = await this.#execute(command, timeout ?? this.timeout, options);
    if (returned.errmsg === null) return returned;
    throw execution?.outcome.status === 'timed-out' ? new TimeoutError(returned.errmsg) : new Error(returned.errmsg);
  }

  /** Same as `run`, with the execution. */
  async execute(command: string, timeout: number, options: CallOptions = {}): Promise<IPythonRun> {
    try {
      return await this.#execute(command, timeout, options);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const failure = { errmsg: error.message, state: ActionStatusCode.API_ERROR };
      return { returned: new ActionReturn({ args: { text: command }, type: this.name, ...failure }), loss: null };
    }
  }

  /** The action as a tool for any agent. Each chat or client has its own session. */
  toTool(): Tool {
    return ipythonTool(this);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
    await this.#host.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected override perform(_: string, { command, timeout }: ActionArguments): Promise<ActionReturn> {
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
    const common = { args: { text: command }, type: this.name, ...weakIsolation(execution.isolation) };
    if (errmsg === null) {
      const content = [text, describeLoss(execution)].filter((part) => part !== '').join('\n');
      return {
        returned: new ActionReturn({ ...common, result: [{ type: 'text', content }, ...images] }),
        execution,
        loss,
      };
    }
    const result = images.length > 0 ? images : null; // figures drawn before the error are kept
    const returned = new ActionReturn({ ...common, result, errmsg, state: ActionStatusCode.API_ERROR });
    return { returned, execution, loss };
  }

  #sessionOf(context: CallContext | undefined): LazySession {
    const key = resolveKey(readContext(context));
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const session = new LazySession(async () => {
      const host = await this.#host.get();
      return host.createSession(await this.#sessionOptions(host));
    });
    this.#sessions.set(key, session);
    this.#forgetOldest();
    return session;
  }

  #forgetOldest(): void {
    const ended = [...this.#sessions].filter(([, session]) => session.hasEnded);
    for (const [key] of ended.slice(0, -MAX_ENDED)) this.#sessions.delete(key);
  }

  async #sessionOptions(host: Host): Promise<SessionOptions> {
    const { userDataDir, userDataWritable: writable, access } = this.#settings;
    const named = userDataDir();
    if (named === '') return { initCode: startCodeWith(''), ...resolveAccess(access, host) };
    const directory = await resolveDirectory('user_data_dir', named);
    return {
      initCode: startCodeWith(changeDirectory(directory)),
      ...resolveAccess(access, host, { mounts: [{ source: directory, target: directory, writable }] }),
    };
  }
}

/** A run reached its time limit. Thrown only by `runOrThrow`. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

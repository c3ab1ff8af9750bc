import { Limits } from '../../config.ts';
import { Transcript } from '../../execution/transcript.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../create-host.ts';
import type { HostOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import { extractCode } from '../../text/code/extract-code.ts';
import { joinLines, shorten } from '../../text/excerpt.ts';
import { weakIsolation } from '../access.ts';
import { BaseAction } from '../action/actions.ts';
import { ActionReturn, ActionStatusCode, type ActionDescription } from '../action/contract.ts';
import type { ActionArguments } from '../action/parsers.ts';
import { isRefusal } from '../call.ts';
import { loadFigures, type LoadedFigure } from '../figures.ts';
import { LazyHost } from '../lazy.ts';
import type { CallContext, CallOptions, Tool } from '../tool.ts';
import { codeParameter, describeNotebook, OWN_DESCRIPTION } from './description.ts';
import { startCodeWith } from './start-code.ts';
import { limitMs, parseIPython, type IPythonOptions, type IPythonSettings } from './options.ts';
import { describeFailure, describeLoss, render } from './output.ts';
import { NotebookSessions } from './sessions.ts';
import { ipythonTool } from './tool.ts';

/** The result of a run, and its execution if the code ran. */
export interface IPythonRun {
  readonly returned: ActionReturn;
  readonly execution?: Execution;
  /** Why the variables of earlier runs are gone, if they are. */
  readonly loss: string | null;
}

/** What sets a class of notebooks apart from the others. */
export interface NotebookManner {
  readonly name: string;
  /** The longest text of a result; null for no limit. */
  readonly maxTextChars: number | null;
  readonly maxSessions: number | null;
  /** What a run that took too long is told. */
  describeTimeout(seconds: number): string;
}

const IPYTHON: NotebookManner = {
  name: 'IPythonInterpreter',
  maxTextChars: null,
  maxSessions: null,
  describeTimeout: (seconds) => `Timeout. No response after ${seconds} seconds.`,
};

const OUTPUT_BYTES = Limits.shape.outputBytes.parse(undefined);

/** Runs Python like a notebook: variables stay, the value of the last expression is shown, figures become files. */
export class IPythonInterpreter extends BaseAction implements AsyncDisposable {
  readonly timeout: number;
  readonly workDir: string;
  readonly #manner: NotebookManner;
  readonly #settings: IPythonSettings;
  readonly #isDescribed: boolean;
  readonly #host: LazyHost;
  readonly #sessions: NotebookSessions;

  /** `manner` is for the classes that are made of this one. */
  constructor(options: IPythonOptions = {}, manner: Partial<NotebookManner> = {}) {
    const own = { ...IPYTHON, ...manner };
    const { description } = options;
    super({ name: own.name, ...OWN_DESCRIPTION, ...description }, { ...options, description: null });
    this.#manner = own;
    this.#settings = parseIPython(options);
    this.timeout = this.#settings.timeout;
    this.workDir = this.#settings.workDir;
    this.#isDescribed = typeof description?.description === 'string';
    this.#host = new LazyHost(options.host ?? undefined);
    this.#sessions = new NotebookSessions(this.#host, this.#settings, own.maxSessions);
  }

  /** Starts a host and a session on it. The caller closes the host. */
  static async startKernel(options: HostOptions = {}): Promise<[manager: Host, client: Session]> {
    const manager = await createHost(options);
    return [manager, await manager.createSession({ initCode: startCodeWith('') })];
  }

  static start_kernel(options?: HostOptions): Promise<[manager: Host, client: Session]> {
    return IPythonInterpreter.startKernel(options);
  }

  get work_dir(): string {
    return this.workDir;
  }

  /** States the actual limit, and what is known about the host. */
  override get description(): ActionDescription {
    const own = super.description;
    if (this.#isDescribed) return own;
    const { known } = this.#host;
    return { ...own, description: describeNotebook(this.#settings, known, this.#sessions.userData) };
  }

  /** Opens the session now instead of with the first run. */
  async initialize(context?: CallContext): Promise<void> {
    await this.#sessions.of(context).get();
  }

  /** Starts a fresh interpreter. Files stay. */
  async reset(context?: CallContext): Promise<void> {
    const session = this.#sessions.of(context);
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

  /** The figures of one of its runs, with their bytes. */
  async figuresOf(execution: Execution): Promise<readonly LoadedFigure[]> {
    return loadFigures(execution, (await this.#host.get()).artifacts);
  }

  /** The action as a tool for any agent. Each chat or client has its own session. */
  toTool(): Tool {
    return ipythonTool(this);
  }

  /** Ends one session with its variables and files. The next run of this caller opens a new one. */
  closeSession(context?: CallContext): Promise<void> {
    return this.#sessions.end(context);
  }

  async close(): Promise<void> {
    await this.#sessions.close();
    await this.#host.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected override perform(_: string, args: ActionArguments, options: CallOptions): Promise<ActionReturn> {
    const code = codeParameter(this.description);
    const { [code]: command, timeout } = args;
    if (typeof command !== 'string') throw new TypeError(`${code} must be a string of Python code.`);
    if (timeout != null && typeof timeout !== 'number') throw new TypeError('timeout must be a number of seconds.');
    return this.run(command, timeout, options);
  }

  async #execute(command: string, timeout: number, { signal, context }: CallOptions): Promise<IPythonRun> {
    const code = extractCode(command);
    const timeoutMs = limitMs(timeout);
    const lazy = this.#sessions.of(context);
    const session = await lazy.get();
    const loss = lazy.takeLoss();
    const transcript = new Transcript(OUTPUT_BYTES);
    for await (const event of session.stream(code, { echo: 'last', timeoutMs, ...(signal && { signal }) })) {
      transcript.add(event);
    }
    const execution = transcript.execution();
    const { text: shown, images } = await render(transcript.items(), this.workDir);
    const notes = await this.#sessions.keepFiles(session, execution);
    const text = joinLines([...(loss === null ? [] : [`[${loss}]`]), shown, ...notes]);
    return { returned: this.#returned(command, { execution, text, images, timeout }), execution, loss };
  }

  #returned(command: string, { execution, text, images, timeout }: Rendered): ActionReturn {
    const { maxTextChars } = this.#manner;
    const fit = (whole: string): string => (maxTextChars === null ? whole : shorten(whole, maxTextChars));
    const errmsg = describeFailure(execution, fit(text), this.#manner.describeTimeout(timeout));
    const common = { args: { text: command }, type: this.name, ...weakIsolation(execution.isolation) };
    if (errmsg === null) {
      const content = [fit(text), describeLoss(execution)].filter((part) => part !== '').join('\n');
      return new ActionReturn({ ...common, result: [{ type: 'text', content }, ...images] });
    }
    const result = images.length > 0 ? images : null; // figures drawn before the error are kept
    return new ActionReturn({ ...common, result, errmsg, state: ActionStatusCode.API_ERROR });
  }
}

interface Rendered {
  readonly execution: Execution;
  readonly text: string;
  readonly images: Awaited<ReturnType<typeof render>>['images'];
  readonly timeout: number;
}

/** A run reached its time limit. Thrown only by `runOrThrow`. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

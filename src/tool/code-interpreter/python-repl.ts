import { z } from 'zod';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import type { SessionOptions } from '../../host/options.ts';
import { changeDirectory } from '../../text/code/python-code.ts';
import { forModel } from '../../text/for-model.ts';
import {
  accessShape,
  isolationOf,
  resolveAccess,
  weakIsolation,
  type AccessOptions,
  type GivenAccess,
} from '../access.ts';
import { isRefusal, readArguments, refuse } from '../call.ts';
import { describeLimits, describeSurroundings } from '../description.ts';
import { loadFigures } from '../figures.ts';
import { imagesOf } from '../images.ts';
import { LazyHost, LazySession } from '../lazy.ts';
import type { CallOptions, Observation, ToolDefinition } from '../tool.ts';
import { CodeArguments, CodeTool, NO_CODE, sourceOf, Timeout, type CodeInput } from './code-tool.ts';
import { errorOf, ToolResult } from './result.ts';

/** The sentence that a caller must pass to run code without isolation. */
export const UNCONFINED = 'I trust this code with my machine';

/** The options of `PythonREPLTool`. */
export interface PythonREPLOptions extends AccessOptions {
  /** Longest run, in seconds. */
  readonly timeout?: number;
  /** Runs the code without a sandbox. Must be the value of `UNCONFINED`. */
  readonly unconfined?: typeof UNCONFINED;
  /** Shared with others and not closed here; without it the tool starts its own. */
  readonly host?: Host | null;
}

const NO_OUTPUT = '(no output)';
const SANDBOXED = 'The code runs in a sandbox, apart from the program that calls it and from its files. ';

const Options = z.strictObject({
  unconfined: z.string().optional(),
  timeout: Timeout,
  ...accessShape,
});

/** Runs code and keeps its variables: in a sandbox, or with the files and rights of this program if it is told so. */
export class PythonREPLTool extends CodeTool {
  readonly name = 'python_repl';
  readonly #timeoutMs: number;
  readonly #isConfined: boolean;
  readonly #access: GivenAccess;
  readonly #host: LazyHost;
  readonly #session: LazySession;

  constructor({ host, ...options }: PythonREPLOptions = {}) {
    super();
    const { unconfined, timeout, ...access } = parse(Options, options);
    this.#timeoutMs = Math.ceil(timeout * 1000);
    this.#isConfined = unconfined === undefined;
    this.#access = access;
    if (this.#isConfined) {
      this.#host = new LazyHost(host ?? undefined);
    } else {
      if (unconfined !== UNCONFINED) throw notAsked();
      if (host != null || Object.values(access).some((value) => value !== undefined)) throw meaningless();
      this.#host = new LazyHost(undefined, { engine: 'local', isolation: 'none', poolSize: 0 });
      warn();
    }
    this.#session = new LazySession(async () => {
      const started = await this.#host.get();
      return started.createSession(this.#isConfined ? resolveAccess(this.#access, started) : asThisProgram());
    });
  }

  /** Returns what the code printed. Variables stay for the next run. */
  async run(input: CodeInput, options: Pick<CallOptions, 'signal'> = {}): Promise<ToolResult> {
    const { refusal, execution, loss } = await this.#run(input, options);
    if (execution === undefined) return new ToolResult('', refusal);
    const error = errorOf(execution);
    const { stdout } = execution.logs;
    const output = stdout === '' && error === null ? NO_OUTPUT : stdout;
    return new ToolResult(loss + output, error, weakIsolation(execution.isolation));
  }

  async define(): Promise<ToolDefinition> {
    return {
      name: this.name,
      description: `Execute Python code and return its output. Input: a Python code string. Use print() to produce output. ${await this.#describe()}`,
      parameters: {
        type: 'object',
        properties: { code: { type: 'string', description: 'Python code to execute' } },
        required: ['code'],
      },
    };
  }

  async call(args: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<Observation> {
    const read = readArguments(CodeArguments, args);
    if ('refusal' in read) return read.refusal;
    const { refusal, execution, loss } = await this.#run(read.value, options);
    if (execution === undefined) return refuse(refusal, { output: '', error: refusal });
    const error = errorOf(execution);
    const payload = { output: loss + execution.logs.stdout, error, ...weakIsolation(execution.isolation) };
    const figures = await loadFigures(execution, (await this.#host.get()).artifacts);
    return { text: loss + forModel(execution), payload, isError: error !== null, ...imagesOf(figures) };
  }

  /** Forgets all variables. */
  async reset(): Promise<void> {
    if (this.#session.isStarted) await (await this.#session.get()).reset();
  }

  async close(): Promise<void> {
    await this.#session.close();
    await this.#host.close();
  }

  async #describe(): Promise<string> {
    if (!this.#isConfined) {
      const limits = describeLimits({ timeoutMs: this.#timeoutMs });
      return `Variables stay from call to call. ${limits} WARNING: the code runs UNCONFINED, with the files, the network and the rights of this program — only use in trusted environments.`;
    }
    const host = await this.#host.get();
    const access = resolveAccess(this.#access, host);
    const isolation = isolationOf(host, access);
    const surroundings = describeSurroundings({
      environment: host.environment,
      isolation,
      mounts: access.mounts,
      timeoutMs: this.#timeoutMs,
      memoryMb: host.limits.memoryMb,
      keeps: 'variables and files',
    });
    const walls = isolation.level === 'namespaces' || isolation.level === 'landlock' ? SANDBOXED : '';
    return walls + surroundings;
  }

  async #run(input: CodeInput, { signal }: Pick<CallOptions, 'signal'>): Promise<ReplRun> {
    const source = sourceOf(input);
    if (source === '') return { refusal: NO_CODE, loss: '' };
    try {
      const session = await this.#session.get();
      const loss = this.#session.takeLoss();
      const execution = await session.runCode(source, {
        echo: 'none',
        timeoutMs: this.#timeoutMs,
        ...(signal && { signal }),
      });
      return { refusal: '', execution, loss: loss === null ? '' : `[${loss}]\n` };
    } catch (error) {
      if (isRefusal(error)) return { refusal: error.message, loss: '' };
      throw error;
    }
  }
}

interface ReplRun {
  /** Absent if the code did not run. */
  readonly execution?: Execution;
  /** Why the code did not run. */
  readonly refusal: string;
  /** A line about the variables of an earlier session, if they are gone. */
  readonly loss: string;
}

/** The directory and the environment of this program. */
function asThisProgram(): SessionOptions {
  return { idleMs: null, initCode: changeDirectory(process.cwd()), env: inheritedVariables() };
}

/** The environment without MPLBACKEND: figures are collected, not drawn on a screen. */
function inheritedVariables(environment: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const named = Object.entries(environment).filter(([name]) => /^[A-Za-z_]\w*$/.test(name) && name !== 'MPLBACKEND');
  return Object.fromEntries(named.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function warn(): void {
  process.emitWarning(
    'PythonREPLTool runs code without isolation: it can read and change files, use the network and do whatever this program can. Give it only code that you trust.',
    { type: 'SecurityWarning', code: 'VIVARIUM_UNCONFINED' },
  );
}

function notAsked(): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `To run code without any isolation, pass the exact words: new PythonREPLTool({ unconfined: ${JSON.stringify(UNCONFINED)} }). Without the option it runs in a sandbox.`,
  );
}

function meaningless(): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    'An unconfined PythonREPLTool has its own host and reaches the whole machine. Remove host, mounts, network and env, or remove unconfined.',
  );
}

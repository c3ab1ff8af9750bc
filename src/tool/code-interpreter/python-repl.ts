import { z } from 'zod';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Execution } from '../../execution/execution.ts';
import { changeDirectory } from '../../text/code/python-code.ts';
import { forModel } from '../../text/for-model.ts';
import { weakIsolation } from '../access.ts';
import { isRefusal, readArguments, refuse } from '../call.ts';
import { describeLimits } from '../description.ts';
import { LazyHost, LazySession } from '../lazy.ts';
import type { CallOptions, Observation, ToolDefinition } from '../tool.ts';
import { CodeArguments, CodeTool, NO_CODE, sourceOf, Timeout, type CodeInput } from './code-tool.ts';
import { errorOf, ToolResult } from './result.ts';

/** The sentence that a caller must pass to run code without isolation. */
export const UNCONFINED = 'I trust this code with my machine';

export interface PythonREPLOptions {
  /** Must be the value of `UNCONFINED`. */
  readonly unconfined: typeof UNCONFINED;
  /** Longest run, in seconds. */
  readonly timeout?: number;
}

const NO_OUTPUT = '(no output)';

const Options = z.strictObject({
  unconfined: z.string().optional(),
  timeout: Timeout,
});

/** Runs trusted code with the directory, environment, network and rights of this program, without isolation. */
export class PythonREPLTool extends CodeTool {
  readonly name = 'python_repl';
  readonly #timeoutMs: number;
  readonly #host = new LazyHost(undefined, { isolation: 'none', poolSize: 0 });
  readonly #session = new LazySession(async () => {
    const host = await this.#host.get();
    return host.createSession({
      idleMs: null,
      initCode: changeDirectory(process.cwd()),
      environment: inheritedVariables(),
    });
  });

  constructor(options: PythonREPLOptions) {
    super();
    const { unconfined, timeout } = parse(Options, options ?? {});
    if (unconfined !== UNCONFINED) throw notAsked();
    this.#timeoutMs = Math.ceil(timeout * 1000);
    process.emitWarning(
      'PythonREPLTool runs code without isolation: it can read and change files, use the network and do whatever this program can. Give it only code that you trust.',
      { type: 'SecurityWarning', code: 'VIVARIUM_UNCONFINED' },
    );
  }

  /** Returns what the code printed. Variables stay for the next run. */
  async run(input: CodeInput, options: Pick<CallOptions, 'signal'> = {}): Promise<ToolResult> {
    const execution = await this.#run(input, options);
    if (typeof execution === 'string') return new ToolResult('', execution);
    const error = errorOf(execution);
    const { stdout } = execution.logs;
    const output = stdout === '' && error === null ? NO_OUTPUT : stdout;
    return new ToolResult(output, error, weakIsolation(execution.isolation));
  }

  async define(): Promise<ToolDefinition> {
    const limits = describeLimits({ timeoutMs: this.#timeoutMs });
    return Promise.resolve({
      name: this.name,
      description: `Execute Python code and return its output. Input: a Python code string. Use print() to produce output. Variables stay from call to call. ${limits} WARNING: the code runs UNCONFINED, with the files, the network and the rights of this program — only use in trusted environments.`,
      parameters: {
        type: 'object',
        properties: { code: { type: 'string', description: 'Python code to execute' } },
        required: ['code'],
      },
    });
  }

  async call(args: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<Observation> {
    const read = readArguments(CodeArguments, args);
    if ('refusal' in read) return read.refusal;
    const execution = await this.#run(read.value, options);
    if (typeof execution === 'string') return refuse(execution, { output: '', error: execution });
    const error = errorOf(execution);
    return { text: forModel(execution), payload: { output: execution.logs.stdout, error }, isError: error !== null };
  }

  /** Forgets all variables. */
  async reset(): Promise<void> {
    if (this.#session.isStarted) await (await this.#session.get()).reset();
  }

  close(): Promise<void> {
    return this.#host.close();
  }

  /** The execution, or why the code did not run. */
  async #run(input: CodeInput, { signal }: Pick<CallOptions, 'signal'>): Promise<Execution | string> {
    const source = sourceOf(input);
    if (source === '') return NO_CODE;
    try {
      const session = await this.#session.get();
      return await session.runCode(source, { echo: 'none', timeoutMs: this.#timeoutMs, ...(signal && { signal }) });
    } catch (error) {
      if (isRefusal(error)) return error.message;
      throw error;
    }
  }
}

/** The environment without MPLBACKEND: figures are collected, not drawn on a screen. */
function inheritedVariables(environment: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const named = Object.entries(environment).filter(([name]) => /^[A-Za-z_]\w*$/.test(name) && name !== 'MPLBACKEND');
  return Object.fromEntries(named.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function notAsked(): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `PythonREPLTool runs code without any isolation, which must be requested explicitly: new PythonREPLTool({ unconfined: ${JSON.stringify(UNCONFINED)} }). For code written by a model, use CodeInterpreterTool.`,
  );
}

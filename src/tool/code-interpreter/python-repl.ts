import { z } from 'zod';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Execution } from '../../execution/execution.ts';
import { forModel } from '../../text/for-model.ts';
import { isAnswer, readArguments, refuse } from '../answers.ts';
import { describeLimits } from '../description.ts';
import { weakWalls } from '../place/access.ts';
import { changeDirectory } from '../place/host-directory.ts';
import { LazyEngine } from '../place/lazy-engine.ts';
import { LazySession } from '../place/lazy-session.ts';
import { toAnthropicTool, toOpenAITool, type AnthropicTool, type OpenAITool } from '../schema-forms.ts';
import type { CallOptions, Observation, Tool, ToolDefinition } from '../tool.ts';
import { CodeArguments, type CodeInput } from './code-interpreter.ts';
import { errorOf } from './outcome.ts';
import { ToolResult } from './tool-result.ts';

/** What has to be said to run code without walls. */
export const UNCONFINED = 'I trust this code with my machine';

export interface PythonREPLOptions {
  /** Must be the words of `UNCONFINED`. */
  readonly unconfined: typeof UNCONFINED;
  /** Seconds that a run may take. */
  readonly timeout?: number;
}

const NO_CODE = 'No code provided.';
const NO_OUTPUT = '(no output)';

const Options = z.strictObject({
  unconfined: z.string().optional(),
  timeout: z
    .number()
    .positive()
    .max(24 * 3600)
    .default(5),
});

/** Runs code where this program runs, with its directory, variables, network and rights: for code that is trusted, and for no other. */
export class PythonREPLTool implements Tool, AsyncDisposable {
  readonly name = 'python_repl';
  readonly #timeoutMs: number;
  readonly #engine = new LazyEngine(undefined, { isolation: 'none', poolSize: 0 });
  readonly #session = new LazySession(async () => {
    const engine = await this.#engine.get();
    return engine.createSession({
      idleMs: null,
      initCode: changeDirectory(process.cwd()),
      environment: variablesOfHost(),
    });
  });

  constructor(options: PythonREPLOptions) {
    const { unconfined, timeout } = parse(Options, options ?? {});
    if (unconfined !== UNCONFINED) throw notAsked();
    this.#timeoutMs = Math.ceil(timeout * 1000);
    process.emitWarning(
      'PythonREPLTool runs code without walls: it can read and change files, use the network and do whatever this program may. Give it only code that you trust.',
      { type: 'SecurityWarning', code: 'VIVARIUM_UNCONFINED' },
    );
  }

  /** The output is what was printed; variables stay for the next run. */
  async run(input: CodeInput, options: Pick<CallOptions, 'signal'> = {}): Promise<ToolResult> {
    const execution = await this.#run(input, options);
    if (typeof execution === 'string') return new ToolResult('', execution);
    const error = errorOf(execution);
    const { stdout } = execution.logs;
    const output = stdout === '' && error === null ? NO_OUTPUT : stdout;
    return new ToolResult(output, error, weakWalls(execution.isolation));
  }

  async define(): Promise<ToolDefinition> {
    const limits = describeLimits({ timeoutMs: this.#timeoutMs });
    return Promise.resolve({
      name: this.name,
      description: `Execute Python code and return its output. Input: a Python code string. Use print() to produce output. Variables stay from call to call. ${limits} WARNING: the code runs UNCONFINED, with the files, the network and the rights of the host — only use in trusted environments.`,
      parameters: {
        type: 'object',
        properties: { code: { type: 'string', description: 'Python code to execute' } },
        required: ['code'],
      },
    });
  }

  /** The definition as OpenAI has it. */
  async schema(): Promise<OpenAITool> {
    return toOpenAITool(await this.define());
  }

  async anthropic_schema(): Promise<AnthropicTool> {
    return toAnthropicTool(await this.define());
  }

  async call(args: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<Observation> {
    const read = readArguments(CodeArguments, args);
    if ('refusal' in read) return read.refusal;
    const execution = await this.#run(read.value, options);
    if (typeof execution === 'string') return refuse(execution, { output: '', error: execution });
    const error = errorOf(execution);
    return { text: forModel(execution), payload: { output: execution.logs.stdout, error }, isError: error !== null };
  }

  /** Forgets every variable. */
  async reset(): Promise<void> {
    if (this.#session.isBegun) await (await this.#session.get()).reset();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The execution, or why there is none. */
  async #run({ code, input }: CodeInput, { signal }: Pick<CallOptions, 'signal'>): Promise<Execution | string> {
    const source = code || input || '';
    if (source === '') return NO_CODE;
    try {
      const session = await this.#session.get();
      return await session.runCode(source, { echo: 'none', timeoutMs: this.#timeoutMs, ...(signal && { signal }) });
    } catch (error) {
      if (isAnswer(error)) return error.message;
      throw error;
    }
  }
}

/** All but what would have figures drawn on a screen: they are collected. */
function variablesOfHost(environment: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const named = Object.entries(environment).filter(([name]) => /^[A-Za-z_]\w*$/.test(name) && name !== 'MPLBACKEND');
  return Object.fromEntries(named.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function notAsked(): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `PythonREPLTool runs code with no isolation at all, which must be asked for in words: new PythonREPLTool({ unconfined: ${JSON.stringify(UNCONFINED)} }). For code that a model writes use CodeInterpreterTool instead.`,
  );
}

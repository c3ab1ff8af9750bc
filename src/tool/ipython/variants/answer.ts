import { z } from 'zod';
import { parse } from '../../../config.ts';
import type { Execution } from '../../../execution/execution.ts';
import type { Host } from '../../../host/host.ts';
import type { Session } from '../../../host/session.ts';
import { extractCode } from '../../../text/code/extract-code.ts';
import { assign } from '../../../text/code/python-code.ts';
import { accessShape, resolveAccess, weakIsolation, type AccessOptions, type GivenAccess } from '../../access.ts';
import { BaseAction, type ActionOptions } from '../../action/actions.ts';
import { ActionReturn, ActionStatusCode, type ActionDescription } from '../../action/contract.ts';
import type { ActionArguments } from '../../action/parsers.ts';
import { isRefusal } from '../../call.ts';
import { LazyHost } from '../../lazy.ts';
import type { CallOptions } from '../../tool.ts';
import { limitMs } from '../options.ts';
import { describeFailure } from '../output.ts';

/** The options of `PythonInterpreter`. */
export interface PythonInterpreterOptions extends ActionOptions, AccessOptions {
  /** The variable whose value is the answer. */
  readonly answerSymbol?: string | null;
  /** Another name of `answerSymbol`. */
  readonly answer_symbol?: string | null;
  /** The expression whose value is the answer; by default `solution()`. Null: that of the last line. */
  readonly answerExpr?: string | null;
  /** Another name of `answerExpr`. */
  readonly answer_expr?: string | null;
  /** Whether the answer is the last line that was printed. */
  readonly answerFromStdout?: boolean;
  /** Another name of `answerFromStdout`. */
  readonly answer_from_stdout?: boolean;
  /** Longest run, in seconds. */
  readonly timeout?: number;
  /** Shared with others and not closed here; without it the action starts its own. */
  readonly host?: Host | null;
}

const Text = z.string().min(1).nullish();
const Options = z.strictObject({
  answerSymbol: Text,
  answer_symbol: Text,
  answerExpr: Text,
  answer_expr: Text,
  answerFromStdout: z.boolean().optional(),
  answer_from_stdout: z.boolean().optional(),
  timeout: z.number().default(20),
  ...accessShape,
});

const OWN: ActionDescription = {
  name: 'PythonInterpreter',
  description:
    'Executes Python code in a fresh interpreter. The code must define a function named solution, without parameters, that follows your reasoning and returns the final answer.',
  parameters: [{ name: 'command', type: 'STRING', description: 'Python code snippet' }],
  required: ['command'],
};

/** The name of our own variable with the text of the answer. */
const ANSWER = '_vivarium_answer';

/** Runs a program in a fresh session and returns one answer: a variable, an expression, or the last printed line. */
export class PythonInterpreter extends BaseAction implements AsyncDisposable {
  readonly timeout: number;
  readonly answerSymbol: string | null;
  readonly answerExpr: string | null;
  readonly answerFromStdout: boolean;
  readonly #access: GivenAccess;
  readonly #host: LazyHost;

  constructor({ host, description, parser, enable, ...options }: PythonInterpreterOptions = {}) {
    super(OWN, { description, parser, enable });
    const { timeout, mounts, network, env, ...answer } = parse(Options, options);
    limitMs(timeout); // an invalid limit fails here, not at the first run
    this.timeout = timeout;
    this.answerSymbol = answer.answerSymbol ?? answer.answer_symbol ?? null;
    const expression = answer.answerExpr === undefined ? answer.answer_expr : answer.answerExpr;
    this.answerExpr = expression === undefined ? 'solution()' : expression;
    this.answerFromStdout = answer.answerFromStdout ?? answer.answer_from_stdout ?? false;
    this.#access = { mounts, network, env };
    this.#host = new LazyHost(host ?? undefined);
  }

  /** Runs code, which may be in fences or in prose. */
  async run(command: string, { signal }: CallOptions = {}): Promise<ActionReturn> {
    const common = { args: { text: command }, type: this.name };
    try {
      const host = await this.#host.get();
      await using session = await host.createSession({ initCode: null, ...resolveAccess(this.#access, host) });
      const stop = signal && { signal };
      const { execution, answer } = await this.#answer(session, extractCode(command), { ...stop });
      const isolation = weakIsolation(execution.isolation);
      if (answer !== null)
        return new ActionReturn({ ...common, ...isolation, result: [{ type: 'text', content: answer }] });
      const timeout = `Timeout. No response after ${this.timeout} seconds.`;
      const errmsg = describeFailure(execution, execution.logs.stdout, timeout) ?? 'The program printed nothing.';
      return new ActionReturn({ ...common, ...isolation, errmsg, state: ActionStatusCode.API_ERROR });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return new ActionReturn({ ...common, errmsg: error.message, state: ActionStatusCode.API_ERROR });
    }
  }

  close(): Promise<void> {
    return this.#host.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected override perform(_: string, { command }: ActionArguments, options: CallOptions): Promise<ActionReturn> {
    if (typeof command !== 'string') throw new TypeError('command must be a string of Python code.');
    return this.run(command, options);
  }

  /** The execution that the answer is from, or that failed. */
  async #answer(session: Session, code: string, stop: Pick<CallOptions, 'signal'>): Promise<Answered> {
    const expression = this.answerFromStdout ? null : (this.answerSymbol ?? this.answerExpr);
    const limits = { timeoutMs: limitMs(this.timeout), ...stop };
    const execution = await session.runCode(code, { echo: expression === null ? 'last' : 'none', ...limits });
    if (execution.outcome.status !== 'succeeded') return { execution, answer: null };
    if (this.answerFromStdout) return { execution, answer: execution.logs.stdout.trimEnd().split('\n').at(-1) || null };
    if (expression === null) return { execution, answer: lastValueOf(execution) };
    const asked = await session.runCode(assign(ANSWER, `str(${expression}\n)`), {
      echo: 'none',
      resultVariable: ANSWER,
      ...limits,
    });
    return { execution: asked, answer: typeof asked.value === 'string' ? asked.value : null };
  }
}

interface Answered {
  readonly execution: Execution;
  readonly answer: string | null;
}

function lastValueOf({ results }: Execution): string {
  return results.find(({ kind }) => kind === 'result')?.data['text/plain'] ?? 'None';
}

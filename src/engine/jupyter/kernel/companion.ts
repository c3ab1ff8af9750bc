/** Our code inside a kernel (python/_vivarium/jupyter): the request that injects it, and the requests that it answers. */
import type { Json } from '../../../execution/execution.ts';
import { pythonString, pythonValue, runSource } from '../../../text/code/python-code.ts';
import { LOOSE, parseJson, ProtocolViolation } from '../../hostile-json.ts';
import type { Shape } from '../../shape.ts';
import type { RequestEnding } from './channel.ts';
import type { ExecuteRequest } from './message.ts';

const INJECT = '_vivarium.jupyter.inject';
const MIME = 'application/vnd.vivarium+json';
const ANSWER = 'answer';
const FOUND = '__import__("sys").modules["_vivarium.jupyter.companion"]';

/** The first request to a kernel, which injects our code. It leaves no name in the program's namespace. */
export function injection(
  sources: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
): ExecuteRequest {
  const result = `names["inject"](${pythonValue(sources)}, ${pythonValue({ environment: env })})`;
  const code = runSource({ source: sources[INJECT] ?? '', name: INJECT, result });
  return { code, isSilent: true, stopOnError: true, expressions: { [ANSWER]: calling('arrive', []) } };
}

/** Has our code do something. If it fails, the code that was sent after it does not run. */
export function command(method: string, ...values: readonly Json[]): ExecuteRequest {
  return { code: calling(method, values), isSilent: true, stopOnError: true };
}

/** Asks our code something. */
export function question(method: string, ...values: readonly Json[]): ExecuteRequest {
  return { code: '', isSilent: true, stopOnError: false, expressions: { [ANSWER]: calling(method, values) } };
}

/** What our code answered. The program can change that code, so the answer may be useless. */
export function answerIn<T>(shape: Shape<T>, ending: RequestEnding): { answer: T } | { problem: string } {
  if ('loss' in ending) return { problem: ending.loss };
  const { reply } = ending;
  if (reply.status === 'error') return { problem: `${reply.ename}: ${reply.evalue}` };
  const expression = reply.status === 'ok' ? reply.user_expressions?.[ANSWER] : undefined;
  if (expression === undefined) return { problem: 'the kernel did not answer' };
  if (expression.status === 'error') return { problem: `${expression.ename}: ${expression.evalue}` };
  const text = expression.data[MIME];
  try {
    return { answer: shape(typeof text === 'string' ? parseJson(Buffer.from(text), LOOSE) : undefined, 'answer') };
  } catch (error) {
    if (error instanceof ProtocolViolation) return { problem: 'the kernel answered something else' };
    throw error;
  }
}

function calling(method: string, values: readonly Json[]): string {
  return `${FOUND}.ask(${pythonString(method)}, *${pythonValue(values)})`;
}

/** Our side inside of a kernel (python/kernel): the code that puts it there, and what is asked of it. */
import type { z } from 'zod';
import type { Json } from '../../../execution/execution.ts';
import { pythonString, pythonValue, runSource } from '../../../text/code/python-code.ts';
import { parseJson, ProtocolViolation } from '../../hostile-json.ts';
import type { RequestEnding } from './channel.ts';
import type { ExecuteRequest } from './message.ts';

const INJECT = 'kernel.inject';
const MIME = 'application/vnd.vivarium+json';
const ANSWER = 'answer';
const FOUND = '__import__("sys").modules["_vivarium"]';

/** The first request to a kernel. It leaves no name behind in the program's namespace. */
export function plant(
  sources: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>>,
): ExecuteRequest {
  const result = `names["inject"](${pythonValue(sources)}, ${pythonValue({ environment })})`;
  const code = runSource({ source: sources[INJECT] ?? '', name: INJECT, result });
  return { code, isSilent: true, stopOnError: true, expressions: { [ANSWER]: calling('arrive', []) } };
}

/** Does something before the code that follows, which is dropped where this fails. */
export function tell(method: string, ...values: readonly Json[]): ExecuteRequest {
  return { code: calling(method, values), isSilent: true, stopOnError: true };
}

/** Wants to know something. */
export function ask(method: string, ...values: readonly Json[]): ExecuteRequest {
  return { code: '', isSilent: true, stopOnError: false, expressions: { [ANSWER]: calling(method, values) } };
}

/** What the companion said; it is in the hands of the program, so it may as well say nothing of use. */
export function answerIn<T>(schema: z.ZodType<T>, ending: RequestEnding): { answer: T } | { problem: string } {
  if ('loss' in ending) return { problem: ending.loss };
  const { reply } = ending;
  if (reply.status === 'error') return { problem: `${reply.ename}: ${reply.evalue}` };
  const expression = reply.status === 'ok' ? reply.user_expressions?.[ANSWER] : undefined;
  if (expression === undefined) return { problem: 'the kernel did not answer' };
  if (expression.status === 'error') return { problem: `${expression.ename}: ${expression.evalue}` };
  const parsed = schema.safeParse(parse(expression.data[MIME]));
  return parsed.success ? { answer: parsed.data } : { problem: 'the kernel answered something else' };
}

function parse(text: Json | undefined): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return parseJson(Buffer.from(text));
  } catch (error) {
    if (error instanceof ProtocolViolation) return undefined;
    throw error;
  }
}

function calling(method: string, values: readonly Json[]): string {
  return `${FOUND}.ask(${pythonString(method)}, *${pythonValue(values)})`;
}

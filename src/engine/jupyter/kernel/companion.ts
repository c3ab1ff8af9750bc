/** Our code inside a kernel (python/kernel): the request that injects it, and the requests that it answers. */
import type { z } from 'zod';
import type { Json } from '../../../execution/execution.ts';
import { parseJson, ProtocolViolation } from '../../hostile-json.ts';
import type { RequestEnding } from './channel.ts';
import type { ExecuteRequest } from './message.ts';

const INJECT = 'kernel.inject';
const MIME = 'application/vnd.vivarium+json';
const ANSWER = 'answer';
const FOUND = '__import__("sys").modules["_vivarium"]';

/** The first request to a kernel, which injects our code. It leaves no name in the program's namespace. */
export function injection(
  sources: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>>,
): ExecuteRequest {
  const call = `names["inject"](${literal(sources)}, ${literal({ environment })})`;
  const code = `(lambda names: (exec(${literal(sources[INJECT] ?? '')}, names), ${call}))({"__name__": "${INJECT}"})`;
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
  return `${FOUND}.ask(${JSON.stringify(method)}, *${literal(values)})`;
}

/** Python for a JSON value. A JSON string is a Python string literal too, so nothing needs quoting by hand. */
function literal(value: Json): string {
  return `__import__("json").loads(${JSON.stringify(JSON.stringify(value))})`;
}

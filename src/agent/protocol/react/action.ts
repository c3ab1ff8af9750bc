/** Reads from the sections of a reply which tool the model calls, or its answer. */
import type { ToolDefinition } from '../../../tool/tool.ts';
import type { RequestedCall } from '../protocol.ts';
import { readInput, type ReadInput } from './input.ts';
import { isNoAction } from './labels.ts';
import type { ReplySection } from './scanner.ts';

export interface ReplyContext {
  readonly tools: readonly ToolDefinition[];
  /** The id for the call, if there is one. */
  readonly id: string;
  /** The reply was cut off at its maximum length. */
  readonly isCut: boolean;
}

/** An answer, a call, or undefined if the reply has neither. */
export type WrittenMove = { readonly answer: string } | { readonly call: RequestedCall } | undefined;

/** Names of actions by which models finish, unless a tool has that name. */
const FINISHES = new Set(['final answer', 'finish', 'final_answer']);

export function readMove(sections: readonly ReplySection[], reading: ReplyContext): WrittenMove {
  const answer = sections.find(({ label }) => label === 'answer');
  if (answer !== undefined) return { answer: answer.text.trim() };
  const action = sections.find(({ label }) => label === 'action');
  if (action === undefined || isNoAction(action.text)) return undefined;
  const input = sections.find(({ label }) => label === 'input');
  const { name, given } = readNamed(action, input);
  const tool = reading.tools.find((each) => each.name === name);
  if (tool === undefined && FINISHES.has(name.toLowerCase()))
    return { answer: (given.block?.text ?? given.text).trim() };
  return { call: toCall(name, readInput(given, tool?.parameters), { given, ...reading }) };
}

interface NamedInput {
  readonly name: string;
  readonly given: Pick<ReplySection, 'text' | 'block'>;
}

/** Two sections, or both in one object: `{"action": …, "action_input": …}`. */
function readNamed(action: ReplySection, input: ReplySection | undefined): NamedInput {
  const source = (action.block?.text ?? action.text).trim();
  const both = source.startsWith('{') ? parseObject(source) : undefined;
  if (typeof both?.['action'] === 'string')
    return { name: both['action'], given: { text: asText(both['action_input']) } };
  return { name: cleanName(action.text), given: input ?? { text: '' } };
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return { ...(JSON.parse(text) as object) };
  } catch {
    return undefined; // then it is read as a name, and the model is told that there is no such tool
  }
}

/** Models put names in brackets, quotes, backticks and asterisks. */
function cleanName(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.slice(0, 200).replaceAll(/^[[`'"*(<\s]+|[\]`'"*().>\s]+$/gu, '');
}

function toCall(
  name: string,
  read: ReadInput,
  { id, isCut, given }: ReplyContext & Pick<NamedInput, 'given'>,
): RequestedCall {
  const isWhole = !isCut || given.block?.isClosed === true;
  if ('args' in read && isWhole) return { id, name, args: read.args };
  const why = isWhole && 'problem' in read ? read.problem : 'the reply was cut off at its maximum length';
  const problem = `The Action Input of '${name}' cannot be used: ${why}. Nothing ran. Write it once more, complete.`;
  return { id, name, args: { invalid_arguments: given.text }, problem };
}

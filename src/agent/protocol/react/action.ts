/** What a model wants, from what it wrote. */
import type { ToolDefinition } from '../../../tool/tool.ts';
import type { RequestedCall } from '../protocol.ts';
import { readInput, type ReadInput } from './input.ts';
import { isNoAction } from './labels.ts';
import type { Section } from './scanner.ts';

export interface Reading {
  readonly tools: readonly ToolDefinition[];
  /** Of the call, should there be one. */
  readonly id: string;
  /** The reply was cut off at its longest length. */
  readonly isCut: boolean;
}

/** An answer, a call, or nothing that could be told. */
export type Wish = { readonly answer: string } | { readonly call: RequestedCall } | undefined;

/** Under these names models finish, when no tool has them. */
const FINISHES = new Set(['final answer', 'finish', 'final_answer']);

export function readWish(sections: readonly Section[], reading: Reading): Wish {
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

interface Named {
  readonly name: string;
  readonly given: Pick<Section, 'text' | 'block'>;
}

/** The usual way, or both in one object: `{"action": …, "action_input": …}`. */
function readNamed(action: Section, input: Section | undefined): Named {
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
    return undefined; // then it is taken for a name, which the model is told is none
  }
}

/** Models put names in brackets, quotes, ticks and stars. */
function cleanName(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.slice(0, 200).replaceAll(/^[[`'"*(<\s]+|[\]`'"*().>\s]+$/gu, '');
}

function toCall(name: string, read: ReadInput, { id, isCut, given }: Reading & Pick<Named, 'given'>): RequestedCall {
  const isWhole = !isCut || given.block?.isClosed === true;
  if ('args' in read && isWhole) return { id, name, args: read.args };
  const why = isWhole && 'problem' in read ? read.problem : 'the reply was cut off at its longest length';
  const problem = `The Action Input of '${name}' cannot be used: ${why}. Nothing ran. Write it once more, complete.`;
  return { id, name, args: { invalid_arguments: given.text }, problem };
}

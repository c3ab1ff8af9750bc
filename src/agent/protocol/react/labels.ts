/** The marks in what a model writes: labels at the start of a line, and fences round code. */

export type Label = 'thought' | 'action' | 'input' | 'observation' | 'answer';

const LABELS: ReadonlyMap<string, Label> = new Map([
  ['thought', 'thought'],
  ['action', 'action'],
  ['action input', 'input'],
  ['observation', 'observation'],
  ['final answer', 'answer'],
]);
const NAMES = 'thought|action input|action|observation|final answer';
const MARK = `(?<name>${NAMES})\\s?\\d{0,3}[*_]{0,3}\\s?[:：][*_]{0,3}[ \\t]*`;
/** Models decorate their labels. */
const IN_PROSE = new RegExp(`^[\\s>#*_-]*${MARK}`, 'iu');
/** In code `# Observation: …` is a comment. */
const IN_CODE = new RegExp(`^[*_]{0,3}${MARK}`, 'iu');
const NEARLY = new RegExp(`^(?:${NAMES})[\\s\\d*_]*$`, 'u');
const FENCE = /^\s*(?<fence>`{3,}|~{3,})[ \t]*(?<info>[\w+.#-]*)[ \t]*\r?\n?$/u;
const FENCE_BEGUN = /^(?:`{1,2}|~{1,2}|`{3,}[^`]*|~{3,}[^~]*)$/u;

/** No mark is longer: a line that is, is text. */
export const MAX_MARK = 60;

export interface Found {
  readonly label: Label;
  /** Of the label, with what belongs to it. */
  readonly length: number;
}

export function findLabel(line: string, place: 'prose' | 'code'): Found | undefined {
  const found = (place === 'code' ? IN_CODE : IN_PROSE).exec(line.slice(0, MAX_MARK));
  const label = LABELS.get(found?.groups?.['name']?.toLowerCase() ?? '');
  return found === null || label === undefined ? undefined : { label, length: found[0].length };
}

/** Whether a line that goes on may turn out to have a label. */
export function mayBecomeLabel(line: string): boolean {
  const word = line.toLowerCase().replace(/^[\s>#*_-]+/u, '');
  return [...LABELS.keys()].some((name) => name.startsWith(word)) || NEARLY.test(word);
}

export interface Fence {
  readonly fence: string;
  /** Most often a language. */
  readonly info: string;
}

export function findFence(line: string): Fence | undefined {
  const { fence, info = '' } = FENCE.exec(line.slice(0, MAX_MARK + 1))?.groups ?? {};
  return fence === undefined ? undefined : { fence, info };
}

/** Whether a line that goes on may turn out to be a fence. */
export function mayBecomeFence(line: string): boolean {
  const start = line.trimStart();
  return start === '' || FENCE_BEGUN.test(start);
}

/** How models say that they do nothing. */
export function isNoAction(text: string): boolean {
  return /^\W*(?:none|n\/a|no action|nothing)\b/iu.test(text.slice(0, MAX_MARK));
}

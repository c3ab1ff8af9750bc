/** The marks in the reply of a model: labels at the start of a line, and fences around code. */

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
/** Models decorate labels with Markdown. */
const IN_PROSE = new RegExp(`^[\\s>#*_-]*${MARK}`, 'iu');
/** In code `# Observation: …` is a comment. */
const IN_CODE = new RegExp(`^[*_]{0,3}${MARK}`, 'iu');
const NEARLY = new RegExp(`^(?:${NAMES})[\\s\\d*_]*$`, 'u');
const FENCE = /^\s*(?<fence>`{3,}|~{3,})[ \t]*(?<info>[\w+.#-]*)[ \t]*\r?\n?$/u;
const FENCE_BEGUN = /^(?:`{1,2}|~{1,2}|`{3,}[^`]*|~{3,}[^~]*)$/u;

/** No mark is longer; a longer line is text. */
export const MAX_MARK = 60;

export interface FoundLabel {
  readonly label: Label;
  /** Of the label with its decoration. */
  readonly length: number;
}

export function findLabel(line: string, context: 'prose' | 'code'): FoundLabel | undefined {
  const found = (context === 'code' ? IN_CODE : IN_PROSE).exec(line.slice(0, MAX_MARK));
  const label = LABELS.get(found?.groups?.['name']?.toLowerCase() ?? '');
  return found === null || label === undefined ? undefined : { label, length: found[0].length };
}

/** Whether an incomplete line may turn out to have a label. */
export function mayBecomeLabel(line: string): boolean {
  const word = line.toLowerCase().replace(/^[\s>#*_-]+/u, '');
  return [...LABELS.keys()].some((name) => name.startsWith(word)) || NEARLY.test(word);
}

export interface Fence {
  readonly fence: string;
  /** Usually a language. */
  readonly info: string;
}

export function findFence(line: string): Fence | undefined {
  const { fence, info = '' } = FENCE.exec(line.slice(0, MAX_MARK + 1))?.groups ?? {};
  return fence === undefined ? undefined : { fence, info };
}

/** Whether an incomplete line may turn out to be a fence. */
export function mayBecomeFence(line: string): boolean {
  const start = line.trimStart();
  return start === '' || FENCE_BEGUN.test(start);
}

/** Whether the action says that there is none. */
export function isNoAction(text: string): boolean {
  return /^\W*(?:none|n\/a|no action|nothing)\b/iu.test(text.slice(0, MAX_MARK));
}

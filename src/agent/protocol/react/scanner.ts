/** What a model writes as text, told apart while it writes: thoughts, an action with its input, or an answer. */
import { findFence, findLabel, isNoAction, MAX_MARK, mayBecomeFence, mayBecomeLabel, type Label } from './labels.ts';

export interface Section {
  readonly label: Label;
  /** As it was written, fences included. */
  text: string;
  /** What is in the first fence of an action or its input. */
  block?: { text: string; isClosed: boolean };
}

/** What a person may see: pieces of thoughts and answers as they come, and each thought when it is complete. */
export type Said = { readonly token: string } | { readonly thought: string };

const THINK = '<think>';
const THINK_END = '</think>';

/**
 * Reads a reply line by line. It is over with the first action and its input, or goes on to the end with an answer:
 * whatever a model writes after an action it cannot know yet, an observation least of all.
 */
export class Scanner {
  readonly sections: Section[] = [];
  /** All that counts has been written. */
  isOver = false;
  /** What was not looked at: the beginning of a line, until it is clear what it is. */
  #held = '';
  #isMidLine = false;
  #isAfterLabel = false;
  #isThinking = false;
  /** There is a fence round the whole reply. */
  #isWrapped = false;
  /** The fence round the input: what looks like a label in it is code. */
  #fence = '';
  #action: Section | undefined;
  #said: Said[] = [];
  /** The end of what was said last is no more than space so far. */
  #space = '';

  feed(piece: string): Said[] {
    this.#held += piece;
    return this.#read(false);
  }

  /** The reply is complete. */
  end(): Said[] {
    return this.#read(true);
  }

  get #current(): Section | undefined {
    return this.sections.at(-1);
  }

  #read(isLast: boolean): Said[] {
    this.#said = [];
    while (this.#held !== '' && !this.isOver) {
      const length = this.#step(isLast);
      if (length === 0) break; // nobody knows yet
      this.#held = this.#held.slice(length);
    }
    return this.#said;
  }

  /** Takes the next part and returns its length. */
  #step(isLast: boolean): number {
    if (this.#isThinking) return this.#think(isLast);
    return this.#isMidLine ? this.#writeLine() : this.#startLine(isLast);
  }

  /** What a reasoning model mutters to itself may look like anything. */
  #think(isLast: boolean): number {
    const end = this.#held.indexOf(THINK_END);
    this.#isThinking = end === -1;
    if (end !== -1) return end + THINK_END.length;
    return isLast ? this.#held.length : Math.max(0, this.#held.length - THINK_END.length);
  }

  #startLine(isLast: boolean): number {
    const newline = this.#held.indexOf('\n');
    const line = newline === -1 ? this.#held : this.#held.slice(0, newline + 1);
    const isWhole = isLast || newline !== -1;
    const start = line.trimStart().slice(0, THINK.length).toLowerCase();
    if (this.sections.length === 0 && start === THINK) return this.#startThinking(line);
    const found = this.#canHaveLabel()
      ? findLabel(line, this.#current?.label === 'input' ? 'code' : 'prose')
      : undefined;
    if (!isWhole && this.#isUndecided(line, found?.length)) return 0;
    if (found !== undefined) return this.#open(found.label, found.length);
    return isWhole && this.#takeFence(line) ? line.length : this.#writeLine();
  }

  #startThinking(line: string): number {
    this.#isThinking = true;
    return line.toLowerCase().indexOf(THINK) + THINK.length;
  }

  #canHaveLabel(): boolean {
    return !this.#isAfterLabel && this.#fence === '' && this.#current?.label !== 'answer';
  }

  /** A label at the very end may still get its stars. */
  #isUndecided(line: string, labelLength: number | undefined): boolean {
    if (line.length > MAX_MARK) return false;
    if (labelLength !== undefined) return labelLength === line.length;
    if (mayBecomeFence(line)) return true;
    if (this.sections.length === 0 && THINK.startsWith(line.trimStart().toLowerCase())) return true;
    return this.#canHaveLabel() && mayBecomeLabel(line);
  }

  #open(label: Label, length: number): number {
    this.isOver = !this.#mayFollow(label);
    this.#endThought();
    if (!this.isOver) this.sections.push({ label, text: '' });
    if (label === 'action') this.#action ??= this.#current;
    this.#isAfterLabel = true;
    return length;
  }

  /** Before anything else a model may repeat what it was told; later on, an observation is one that it makes up. */
  #mayFollow(label: Label): boolean {
    if (label === 'observation') return this.sections.length === 0;
    if (this.#action === undefined) return true;
    return label === 'input' ? this.#current?.label === 'action' : label === 'answer' && isNoAction(this.#action.text);
  }

  #endThought(): void {
    const { label, text = '' } = this.#current ?? {};
    const thought = text.trim().replace(/\n[ \t]*[`~]{3,}\w*$/u, '');
    if (label === 'thought' && thought !== '') this.#said.push({ thought });
    this.#space = '';
  }

  /** True for a fence that is no part of the text round it. */
  #takeFence(line: string): boolean {
    const { fence, info } = findFence(line) ?? { fence: '', info: '' };
    const section = this.#current;
    if (fence === '') return false;
    if (section === undefined) return (this.#isWrapped = true);
    if (this.#fence !== '') return info === '' && fence.startsWith(this.#fence) && this.#closeBlock(line, section);
    if (section.label !== 'action' && section.label !== 'input') {
      this.#isWrapped = !this.#isWrapped;
      return false;
    }
    if (this.#isWrapped && info === '' && section.text.trim() !== '') {
      this.#isWrapped = false;
      return true;
    }
    return section.block === undefined && this.#openBlock(line, section, fence);
  }

  #openBlock(line: string, section: Section, fence: string): boolean {
    section.text += line;
    section.block = { text: '', isClosed: false };
    this.#fence = fence;
    this.#isAfterLabel = false;
    return true;
  }

  #closeBlock(line: string, section: Section): boolean {
    section.text += line;
    if (section.block) section.block.isClosed = true;
    this.#fence = '';
    return true;
  }

  #writeLine(): number {
    const newline = this.#held.indexOf('\n');
    const length = newline === -1 ? this.#held.length : newline + 1;
    this.#write(this.#held.slice(0, length));
    this.#isMidLine = newline === -1;
    if (newline !== -1) this.#isAfterLabel = false;
    return length;
  }

  #write(text: string): void {
    if (this.#current === undefined && text.trim() === '') return;
    if (this.#current === undefined) this.sections.push({ label: 'thought', text: '' });
    const section = this.#current;
    if (section === undefined) return;
    section.text += text;
    if (this.#fence !== '' && section.block) section.block.text += text;
    if (section.label === 'thought' || section.label === 'answer') this.#say(text);
  }

  #say(text: string): void {
    const token = text.trimEnd();
    if (token !== '') this.#said.push({ token: this.#space + token });
    this.#space = (token === '' ? this.#space : '') + text.slice(token.length);
  }
}

/** Splits the reply of a model into thoughts, an action with its input, and an answer, while it arrives. */
import { findFence, findLabel, isNoAction, MAX_MARK, mayBecomeFence, mayBecomeLabel, type Label } from './labels.ts';

export interface ReplySection {
  readonly label: Label;
  /** As the model wrote it, including fences. */
  text: string;
  /** The content of the first fence of an action or its input. */
  block?: { text: string; isClosed: boolean };
}

/** What can be shown to a person: pieces of thoughts and answers as they arrive, and each complete thought. */
export type ScannedText = { readonly token: string } | { readonly thought: string };

const THINK = '<think>';
const THINK_END = '</think>';

/**
 * Reads a reply line by line. It ends after the first action and its input; an answer goes on to the end of the reply.
 * Whatever a model writes after an action, such as an observation, it has made up.
 */
export class Scanner {
  readonly sections: ReplySection[] = [];
  /** The rest of the reply is ignored. */
  isOver = false;
  /** The text that is not classified yet: the beginning of a line. */
  #held = '';
  #isMidLine = false;
  #isAfterLabel = false;
  #isThinking = false;
  /** The whole reply is in a fence. */
  #isWrapped = false;
  /** The fence around the input. Inside it, what looks like a label is code. */
  #fence = '';
  #action: ReplySection | undefined;
  #said: ScannedText[] = [];
  /** White space at the end of the last piece, held back until more text follows. */
  #space = '';

  feed(piece: string): ScannedText[] {
    this.#held += piece;
    return this.#read(false);
  }

  /** The reply is complete. */
  end(): ScannedText[] {
    return this.#read(true);
  }

  get #current(): ReplySection | undefined {
    return this.sections.at(-1);
  }

  #read(isLast: boolean): ScannedText[] {
    this.#said = [];
    while (this.#held !== '' && !this.isOver) {
      const length = this.#step(isLast);
      if (length === 0) break; // not decided yet
      this.#held = this.#held.slice(length);
    }
    return this.#said;
  }

  /** Processes the next part and returns its length. */
  #step(isLast: boolean): number {
    if (this.#isThinking) return this.#think(isLast);
    return this.#isMidLine ? this.#writeLine() : this.#startLine(isLast);
  }

  /** Skips the reasoning of a model, which may contain anything. */
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

  /** A label at the very end of the text may still be followed by asterisks. */
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

  /** At the beginning a model may repeat an observation that it was given; any later one is made up. */
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

  /** Returns true for a fence that is not part of the text around it. */
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

  #openBlock(line: string, section: ReplySection, fence: string): boolean {
    section.text += line;
    section.block = { text: '', isClosed: false };
    this.#fence = fence;
    this.#isAfterLabel = false;
    return true;
  }

  #closeBlock(line: string, section: ReplySection): boolean {
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

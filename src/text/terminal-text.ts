import { UNSAFE } from './visible.ts';

/** Colours and other styles. The parameters are bounded, as no real sequence is longer. */
// oxlint-disable-next-line no-control-regex
const STYLE = /^\u001B\[[\d;:]{0,64}m/u;
/** The beginning of what may become a style sequence. */
// oxlint-disable-next-line no-control-regex
const UNFINISHED = /\u001B(?:\[[\d;:]{0,64})?$/u;
/** Styles anywhere in the text, and unsafe characters. */
const CONTROLS = new RegExp(`${STYLE.source.slice(1)}|${UNSAFE.source}`, 'gu');
const RESET = '\u001B[0m';

/**
 * Makes the output of a program safe for a terminal. Styles and carriage returns stay; all other control characters are
 * made visible. Text comes in pieces: a sequence that is split between two pieces is still recognised.
 */
export class TerminalText {
  #held = '';
  #isStyled = false;

  add(piece: string): string {
    const text = this.#held + piece;
    this.#held = UNFINISHED.exec(text)?.[0] ?? '';
    return this.#show(text.slice(0, text.length - this.#held.length));
  }

  /** Returns what was held back, and resets the style. */
  end(): string {
    const rest = this.#show(this.#held);
    this.#held = '';
    const reset = this.#isStyled ? RESET : '';
    this.#isStyled = false;
    return rest + reset;
  }

  #show(text: string): string {
    return text.replaceAll(CONTROLS, (control) => {
      if (!STYLE.test(control)) return `\\u{${(control.codePointAt(0) ?? 0).toString(16)}}`;
      this.#isStyled = !/^\D*0*m$/u.test(control);
      return control;
    });
  }
}

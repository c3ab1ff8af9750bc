/** Colours and other styles. The parameters are bounded, as no real sequence is longer. */
// oxlint-disable-next-line no-control-regex
const STYLE = /^\u001B\[[\d;:]{0,64}m/u;
/** The beginning of what may become a style sequence. */
// oxlint-disable-next-line no-control-regex
const UNFINISHED = /\u001B(?:\[[\d;:]{0,64})?$/u;
/**
 * Style sequences, all control characters except tab, new line and carriage return, and characters that change the
 * writing direction, separate lines or cannot be seen.
 */
const CONTROLS =
  // oxlint-disable-next-line no-control-regex
  /\u001B\[[\d;:]{0,64}m|[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu;
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

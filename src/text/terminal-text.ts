/** Colours and other looks of text; the parameters are bounded, as no real sequence is longer. */
// oxlint-disable-next-line no-control-regex
const STYLE = /^\u001B\[[\d;:]{0,64}m/u;
/** The beginning of what may yet become one. */
// oxlint-disable-next-line no-control-regex
const UNFINISHED = /\u001B(?:\[[\d;:]{0,64})?$/u;
/** Every control character but tab, new line and carriage return, with the looks that may follow an ESC. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /\u001B\[[\d;:]{0,64}m|[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/gu;
const RESET = '\u001B[0m';

/**
 * Text of a program on its way to a terminal. It may change its own looks and begin lines anew; whatever else it has for
 * the terminal is made visible. Comes in pieces: a sequence that is cut in two is still one.
 */
export class TerminalText {
  #held = '';
  #isStyled = false;

  add(piece: string): string {
    const text = this.#held + piece;
    this.#held = UNFINISHED.exec(text)?.[0] ?? '';
    return this.#show(text.slice(0, text.length - this.#held.length));
  }

  /** What was held back, and the usual looks for what comes next. */
  end(): string {
    const rest = this.#show(this.#held);
    this.#held = '';
    const reset = this.#isStyled ? RESET : '';
    this.#isStyled = false;
    return rest + reset;
  }

  #show(text: string): string {
    return text.replaceAll(CONTROLS, (control) => {
      if (!STYLE.test(control)) return `\\u{${control.charCodeAt(0).toString(16)}}`;
      this.#isStyled = !/^\D*0*m$/u.test(control);
      return control;
    });
  }
}

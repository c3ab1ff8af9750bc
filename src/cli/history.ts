/** The lines typed in former sessions, oldest first, in a file that only their author can read. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

const MAX_LINES = 1000;

export class History {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** Newest first, as the line editor wants them. */
  load(): string[] {
    const lines = this.#read();
    const kept = lines.slice(-MAX_LINES);
    if (lines.length > 2 * MAX_LINES)
      this.#attempt(() => writeFileSync(this.#file, `${kept.join('\n')}\n`, { mode: 0o600 }));
    return kept.toReversed();
  }

  /** At once: a terminal may be closed at any moment. */
  add(line: string): void {
    if (line.trim() !== '') this.#attempt(() => appendFileSync(this.#file, `${line}\n`, { mode: 0o600 }));
  }

  #read(): string[] {
    try {
      return readFileSync(this.#file, 'utf8').split('\n').filter(Boolean);
    } catch {
      return []; // nothing was typed yet
    }
  }

  #attempt(write: () => void): void {
    try {
      write();
    } catch {
      // A full or read-only disk costs the history, not the session.
    }
  }
}

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

const MAX_LINES = 1000;

/** The lines typed in earlier sessions, oldest first, in a file that only its owner can read. */
export class LineHistory {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** Newest first, as the line editor takes them. */
  load(): string[] {
    const lines = this.#read();
    const kept = lines.slice(-MAX_LINES);
    if (lines.length > 2 * MAX_LINES)
      this.#attempt(() => writeFileSync(this.#file, `${kept.join('\n')}\n`, { mode: 0o600 }));
    return kept.toReversed();
  }

  /** Writes at once, since a terminal can be closed at any moment. */
  add(line: string): void {
    if (line.trim() !== '') this.#attempt(() => appendFileSync(this.#file, `${line}\n`, { mode: 0o600 }));
  }

  #read(): string[] {
    try {
      return readFileSync(this.#file, 'utf8').split('\n').filter(Boolean);
    } catch {
      return []; // the first session
    }
  }

  #attempt(write: () => void): void {
    try {
      write();
    } catch {
      // A full or read-only disk must not end the session.
    }
  }
}

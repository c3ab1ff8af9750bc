import { setTimeout as sleep } from 'node:timers/promises';
import type { Completion } from '../../engine/engine.ts';
import type { Session } from '../../host/session.ts';

/** A person waits no longer for Tab. */
const PATIENCE_MS = 500;
const INDENT = '    ';

/** What the line editor takes: texts, and the end of the line that each of them replaces. */
export type LineCompletion = [texts: string[], replaced: string];

export interface CompleterOptions {
  readonly session: Pick<Session, 'complete'>;
  /** Commands of the REPL, without their percent sign. */
  readonly commands: readonly string[];
  /** The whole cell up to the cursor. */
  readonly cellWith: (line: string) => string;
  readonly isRunning: () => boolean;
}

/** Answers Tab: indents a blank line, and completes any other with what the session holds. Never waits long. */
export class Completer {
  readonly #options: CompleterOptions;
  #isAsking = false;

  constructor(options: CompleterOptions) {
    this.#options = options;
  }

  /** What needs no session is answered at once: a pasted text has more keys after its Tab, which do not wait. */
  complete(line: string): LineCompletion | Promise<LineCompletion> {
    const { commands, isRunning } = this.#options;
    if (line.trim() === '') return [[`${line}${INDENT}`], line];
    if (/^%\w*$/.test(line)) return [commands.map((name) => `%${name}`).filter((name) => name.startsWith(line)), line];
    return isRunning() || this.#isAsking ? [[], line] : this.#completeCode(line);
  }

  async #completeCode(line: string): Promise<LineCompletion> {
    const cell = this.#options.cellWith(line);
    const found = await Promise.race([this.#ask(cell), sleep(PATIENCE_MS, null)]);
    return found === null ? [[], line] : [[...found.matches], cell.slice(found.start, found.end)];
  }

  /** Null if the session fails: that is for the next cell to report. */
  async #ask(cell: string): Promise<Completion | null> {
    this.#isAsking = true;
    try {
      return await this.#options.session.complete(cell);
    } catch {
      return null;
    } finally {
      this.#isAsking = false;
    }
  }
}

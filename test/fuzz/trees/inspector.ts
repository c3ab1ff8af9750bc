/** Judges everything that the trusted side says or keeps about a hostile tree. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { VivariumError, type ErrorCode } from '../../../src/errors.ts';
import { within } from '../../../src/engine/deadline.ts';

/** Control characters but for those of plain text, and changes of the writing direction. */
const DECEPTIVE = /(?![\n\t])[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
/** What is not a plain file or holds the secret; by the system's tools, since no path is too long for them. */
const FIND_ODD = `find "$1" ! -type d \\( ! -type f -o -perm /7111 \\) -print; grep -rFl -e "$2" "$1"; true`;
const PATIENCE_MS = 30_000;
/** What no program may bring about. */
const OURS: ReadonlySet<ErrorCode> = new Set(['ENGINE_FAILED', 'INIT_FAILED', 'STORAGE_FAILED', 'CONFIG_INVALID']);
const MOST_PROBLEMS = 20;
const LATE: unique symbol = Symbol('late');

export class Inspector {
  readonly #token: Buffer;
  readonly #problems: string[] = [];
  /** What is being done now, for the reader of a problem. */
  readonly #where: string;

  constructor(token: string, where: string) {
    this.#token = Buffer.from(token);
    this.#where = where;
  }

  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Does something with a tree. It may be refused in words of ours, and nothing else may go wrong. True if it was done. */
  async attempt(what: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      if ((await within<unknown, typeof LATE>(PATIENCE_MS, work(), LATE)) !== LATE) return true;
      this.report(what, `took longer than ${PATIENCE_MS} ms`);
    } catch (error) {
      if (error instanceof VivariumError && !OURS.has(error.code)) this.text(`${what} was refused`, error.message);
      else this.report(what, error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    return false;
  }

  /** Text that a person or a model gets to see. */
  text(what: string, text: string): void {
    this.bytes(what, Buffer.from(text));
    const found = DECEPTIVE.exec(text);
    if (found !== null) this.report(what, `shows ${JSON.stringify(text.slice(found.index - 40, found.index + 40))}`);
  }

  bytes(what: string, bytes: Uint8Array): void {
    if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(this.#token))
      this.report(what, 'tells a secret of the machine');
  }

  /** A directory of the host's that got copies: nothing but files of the session, as plain files. */
  async copies(what: string, directory: string): Promise<void> {
    const { stdout } = await promisify(execFile)('sh', ['-c', FIND_ODD, 'sh', directory, this.#token.toString()]);
    if (stdout !== '') this.report(what, `made something that it must not: ${JSON.stringify(stdout.slice(0, 500))}`);
  }

  report(what: string, problem: string): void {
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push(`${this.#where}: ${what}: ${problem}`);
  }
}

import { randomBytes } from 'node:crypto';

export const PREFIX_BYTES = 12;
const NUMBER_BYTES = 4;
export const MARK_BYTES = PREFIX_BYTES + NUMBER_BYTES;

/** The bytes that end the output of a run: a prefix that all marks of a worker share, and a growing number. */
export class Marks {
  /** Random, so that no program prints it by accident. */
  readonly prefix: Buffer;
  readonly #prefixText: string;
  #last = 0;

  constructor() {
    this.prefix = randomBytes(PREFIX_BYTES);
    this.prefix[0] = 0xff; // not part of any text, so that a line never has to wait until it is known not to begin a mark
    this.#prefixText = this.prefix.toString('hex');
  }

  /** The number of a mark that no other run has. */
  next(): number {
    this.#last += 1;
    return this.#last;
  }

  /** The mark as it is sent to a worker. */
  textOf(mark: number): string {
    return this.#prefixText + mark.toString(16).padStart(2 * NUMBER_BYTES, '0');
  }
}

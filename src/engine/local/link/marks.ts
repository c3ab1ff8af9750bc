import { randomBytes } from 'node:crypto';

export const KIN_BYTES = 12;
const NUMBER_BYTES = 4;
export const MARK_BYTES = KIN_BYTES + NUMBER_BYTES;

/** The bytes that end the output of one run are what all marks of a session begin with, their kin, and then a number, which grows. */
export class Marks {
  /** No program prints it by accident. */
  readonly kin: Buffer;
  readonly #kinText: string;
  #last = 0;

  constructor() {
    this.kin = randomBytes(KIN_BYTES);
    this.kin[0] = 0xff; // never part of text: no end of a line has to wait until it is known not to begin a mark
    this.#kinText = this.kin.toString('hex');
  }

  /** The number of a mark that no other run has. */
  next(): number {
    this.#last += 1;
    return this.#last;
  }

  /** A mark as a worker is told it. */
  textOf(mark: number): string {
    return this.#kinText + mark.toString(16).padStart(2 * NUMBER_BYTES, '0');
  }
}

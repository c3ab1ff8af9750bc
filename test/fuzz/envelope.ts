/** Puts messages into frames, some of which say wrong lengths. */
import type { Mutation, Mutations } from './mutations.ts';

const LENGTHS_BYTES = 8;
const WRONG_LENGTH_IN = 12;
const LENGTHS = [0, 1, 2, 1 << 20, (16 << 20) + 1, 0x7f_ff_ff_ff, 0xff_ff_ff_ff];

export function framed({ chance }: Mutations, { text }: Mutation): Buffer {
  const isWrong = chance.number(WRONG_LENGTH_IN) === 0;
  const lengths = Buffer.alloc(LENGTHS_BYTES);
  lengths.writeUInt32BE(isWrong ? chance.pick(LENGTHS) : text.length, 0);
  lengths.writeUInt32BE(isWrong ? chance.pick(LENGTHS) : 0, 4);
  return Buffer.concat([lengths, text]);
}

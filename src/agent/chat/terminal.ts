import { openSync } from 'node:fs';
import { ReadStream, WriteStream } from 'node:tty';
import { VivariumError } from '../../errors.ts';
import type { ChatStreams } from './chat.ts';

const TERMINAL = '/dev/tty';

/** The terminal of whoever started the process, as `ssh` asks for passwords on it: standard output stays the program's. */
export function openTerminal(): ChatStreams & Disposable {
  const descriptors = [openDescriptor('r'), openDescriptor('w')] as const;
  const [input, output] = [new ReadStream(descriptors[0]), new WriteStream(descriptors[1])];
  const close = (): void => {
    input.destroy();
    output.destroy();
  };
  return { input, output, [Symbol.dispose]: close };
}

function openDescriptor(mode: 'r' | 'w'): number {
  try {
    return openSync(TERMINAL, mode);
  } catch (error) {
    const message = 'There is no terminal to chat on. Give chat() an input and an output stream.';
    throw new VivariumError('USAGE', message, { cause: error });
  }
}

import { openSync } from 'node:fs';
import { ReadStream, WriteStream } from 'node:tty';
import { VivariumError } from '../errors.ts';

/** The terminal that the process was started from. Its standard input and output stay free for the program. */
export interface OwnTerminal extends Disposable {
  readonly input: ReadStream;
  readonly output: WriteStream;
}

export function openTerminal(): OwnTerminal {
  const [input, output] = [new ReadStream(openDevice('r')), new WriteStream(openDevice('w'))];
  const close = (): void => {
    input.destroy();
    output.destroy();
  };
  return { input, output, [Symbol.dispose]: close };
}

function openDevice(mode: 'r' | 'w'): number {
  try {
    return openSync('/dev/tty', mode);
  } catch (error) {
    const message = 'This process has no terminal. Pass an input and an output stream: { input, output }.';
    throw new VivariumError('USAGE', message, { cause: error });
  }
}

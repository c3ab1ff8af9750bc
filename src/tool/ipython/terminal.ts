import { openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { ReadStream, WriteStream } from 'node:tty';
import { VivariumError } from '../../errors.ts';
import { IPythonInterpreter } from './ipython.ts';

/** A terminal, or a pair of pipes. */
export interface Terminal {
  readonly input: Readable;
  readonly output: Writable;
}

/** The interpreter of the console loop. It opens its session at the first run, and whoever used it closes it. */
export const codeInterpreter = new IPythonInterpreter();

/** Reads lines until Ctrl-D or the end of the input: of the terminal that the program was started from, or of another. */
export async function getMultilineInput(hint: string, terminal?: Terminal): Promise<string> {
  if (terminal !== undefined) return readLines(hint, terminal);
  using own = openTerminal();
  return await readLines(hint, own);
}

/** Asks for code and shows what it gives, until the input has ended or nothing is entered; on a terminal as above. */
export async function runConsole(terminal?: Terminal, host = codeInterpreter): Promise<void> {
  if (terminal !== undefined) return converse(terminal, host);
  using own = openTerminal();
  await converse(own, host);
}

async function readLines(hint: string, { input, output }: Terminal): Promise<string> {
  const isTerminal = 'isTTY' in input && input.isTTY === true;
  // With a terminal the line editor sees Ctrl-D itself: else the whole input would end with the first one.
  const editor = createInterface({ input, terminal: isTerminal, ...(isTerminal && { output }) });
  output.write(`${hint}\n// Press ENTER to make a new line. Press CTRL-D to end input.\n`);
  const lines: string[] = [];
  for await (const line of editor) lines.push(line);
  output.write('// Input received.\n');
  return lines.join('\n');
}

async function converse(terminal: Terminal, host: IPythonInterpreter): Promise<void> {
  for (;;) {
    const code = await readLines('Enter python code:', terminal);
    if (code.trim() === '') return;
    const returned = await host.run(code);
    terminal.output.write(`${returned.errmsg ?? returned.formatResult()}\n`);
    if (terminal.input.readableEnded || terminal.input.destroyed) return;
  }
}

/** Standard output stays the program's. */
function openTerminal(): Terminal & Disposable {
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
    const message = 'There is no terminal to read from. Give an input and an output stream: { input, output }.';
    throw new VivariumError('USAGE', message, { cause: error });
  }
}

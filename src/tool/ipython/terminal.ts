import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { openTerminal } from '../terminal.ts';
import { IPythonInterpreter } from './ipython.ts';

/** A terminal, or a pair of pipes. */
export interface Terminal {
  readonly input: Readable;
  readonly output: Writable;
}

/** The interpreter of the console loop. It opens its session with the first run. The caller closes it. */
export const codeInterpreter = new IPythonInterpreter();

/** Reads lines until Ctrl-D or the end of the input, by default from the terminal that the program was started from. */
export async function getMultilineInput(hint: string, terminal?: Terminal): Promise<string> {
  if (terminal !== undefined) return readLines(hint, terminal);
  using own = openTerminal();
  return await readLines(hint, own);
}

/** Asks for code and prints its result, until the input ends or is empty. Same default terminal. */
export async function runConsole(terminal?: Terminal, interpreter = codeInterpreter): Promise<void> {
  if (terminal !== undefined) return converse(terminal, interpreter);
  using own = openTerminal();
  await converse(own, interpreter);
}

async function readLines(hint: string, { input, output }: Terminal): Promise<string> {
  const isTerminal = 'isTTY' in input && input.isTTY === true;
  // On a terminal the line editor has to handle Ctrl-D; otherwise the first one would end the whole input.
  const editor = createInterface({ input, terminal: isTerminal, ...(isTerminal && { output }) });
  output.write(`${hint}\n// Press ENTER to make a new line. Press CTRL-D to end input.\n`);
  const lines: string[] = [];
  for await (const line of editor) lines.push(line);
  output.write('// Input received.\n');
  return lines.join('\n');
}

async function converse(terminal: Terminal, interpreter: IPythonInterpreter): Promise<void> {
  for (;;) {
    const code = await readLines('Enter python code:', terminal);
    if (code.trim() === '') return;
    const returned = await interpreter.run(code);
    terminal.output.write(`${returned.errmsg ?? returned.formatResult()}\n`);
    if (terminal.input.readableEnded || terminal.input.destroyed) return;
  }
}

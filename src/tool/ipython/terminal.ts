import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { IPythonInterpreter } from './ipython.ts';

/** A terminal, or a pair of pipes. */
export interface Terminal {
  readonly input: Readable;
  readonly output: Writable;
}

/** The interpreter of the console loop. It opens its session at the first run, and whoever used it closes it. */
export const codeInterpreter = new IPythonInterpreter();

/** Reads lines until Ctrl-D or the end of the input. */
export async function getMultilineInput(hint: string, { input, output }: Terminal = ofProcess()): Promise<string> {
  output.write(`${hint}\n// Press ENTER to make a new line. Press CTRL-D to end input.\n`);
  const lines: string[] = [];
  const isTerminal = 'isTTY' in input && input.isTTY === true;
  // With a terminal the line editor sees Ctrl-D itself: else the whole input would end with the first one.
  for await (const line of createInterface({ input, terminal: isTerminal, ...(isTerminal && { output }) })) {
    lines.push(line);
  }
  output.write('// Input received.\n');
  return lines.join('\n');
}

/** Asks for code and shows what it gives, until the input has ended or nothing is entered. */
export async function runConsole(terminal: Terminal = ofProcess(), interpreter = codeInterpreter): Promise<void> {
  for (;;) {
    const code = await getMultilineInput('Enter python code:', terminal);
    if (code.trim() === '') return;
    const returned = await interpreter.run(code);
    terminal.output.write(`${returned.errmsg ?? returned.formatResult()}\n`);
    if (terminal.input.readableEnded || terminal.input.destroyed) return;
  }
}

/** That of the program itself: these are console helpers, and a console is what they get by default. */
function ofProcess(): Terminal {
  return { input: process.stdin, output: process.stdout };
}

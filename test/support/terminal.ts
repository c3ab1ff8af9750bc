import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { realPython } from './python.ts';

const PTY = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

/** A Node program at a terminal of its own. */
export class Terminal {
  readonly #child: ChildProcessWithoutNullStreams;
  #said = '';
  #wake: () => void = () => {};

  constructor(command: readonly string[], env: NodeJS.ProcessEnv, { cwd }: { readonly cwd?: string } = {}) {
    this.#child = spawn(realPython(), ['-c', PTY, process.execPath, ...command], {
      env: { ...process.env, ...env },
      ...(cwd !== undefined && { cwd }),
    });
    onTestFinished(() => void this.#child.kill('SIGKILL')); // closes the terminal, which ends what hangs in it
    this.#child.stdout.on('data', (chunk) => {
      this.#said += String(chunk);
      this.#wake();
    });
  }

  /** Of the process that holds the terminal. The program is its child. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  type(keys: string): void {
    this.#child.stdin.write(keys);
  }

  /** What was said up to these words; what comes after them is for the next call. */
  async until(words: string): Promise<string> {
    while (!this.#said.includes(words)) await new Promise<void>((resolve) => (this.#wake = resolve));
    const end = this.#said.indexOf(words) + words.length;
    const said = this.#said.slice(0, end);
    this.#said = this.#said.slice(end);
    return said;
  }

  /** What was said after the last words that were waited for. */
  get rest(): string {
    return this.#said;
  }

  /** Ends the program as if the power had failed. */
  killProgram(): void {
    const { pid } = this.#child;
    const [program = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    process.kill(Number(program), 'SIGKILL');
  }

  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
    this.#child.stdin.destroy();
    return this.#child.exitCode;
  }
}

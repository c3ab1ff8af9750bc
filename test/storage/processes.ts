import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';

const PROGRAMS = path.join(import.meta.dirname, 'programs');

/** A real process, whose lines of output can be awaited one by one. */
export class Program {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor(file: string, ...args: readonly string[]) {
    this.#child = spawn(process.execPath, [path.join(PROGRAMS, file), ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    onTestFinished(() => void this.#child.kill('SIGKILL'));
  }

  async line(): Promise<string> {
    const next = await this.#lines.next();
    if (next.done === true) throw new Error('the program ended without a word');
    return next.value;
  }

  say(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  async kill(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

/** Lets several processes try the same thing several times at the same moment, and returns all their answers. */
export async function contend(
  place: string,
  what: string,
  { id = '', processes, times }: { readonly id?: string; readonly processes: number; readonly times: number },
): Promise<string[]> {
  const programs = Array.from({ length: processes }, () => new Program('contender.ts', place, what, id, String(times)));
  await Promise.all(programs.map((program) => program.line()));
  for (const program of programs) program.say('go');
  const answers = await Promise.all(programs.map((program) => program.line()));
  return answers.flatMap((answer) => JSON.parse(answer) as string[]);
}

/** ipykernel behind jupyter_client, as the benchmark sees it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { kernelEnvironment } from './kernel-environment.ts';

const DRIVER = path.join(import.meta.dirname, 'driver.py');
const KEPT_STDERR_BYTES = 4096;

const KernelStart = z.object({
  readyMs: z.number().describe('Until the kernel answers'),
  firstMs: z.number().describe('Until the first code has run'),
  pid: z.int(),
});
export type KernelStart = z.infer<typeof KernelStart>;

const KernelRuns = z.object({ durationsMs: z.array(z.number()), text: z.string().nullable() });
export type KernelRuns = z.infer<typeof KernelRuns>;

/** Starts kernels and runs code in them, one at a time. */
export class Ipykernel implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #home: string;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  private constructor(child: ChildProcess, home: string) {
    this.#child = child;
    this.#home = home;
    if (child.stdout === null || child.stderr === null) throw new TypeError('the driver has no pipes');
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stderr.on('data', (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString('utf8')).slice(-KEPT_STDERR_BYTES);
    });
  }

  static async start(python: string, cacheDir: string): Promise<Ipykernel> {
    const home = await mkdtemp(path.join(tmpdir(), 'vivarium-bench-'));
    const child = spawn(python, [DRIVER], {
      env: kernelEnvironment(home, cacheDir),
      cwd: home,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    await once(child, 'spawn');
    return new Ipykernel(child, home);
  }

  /** A new kernel in place of the last, and its first run. */
  startKernel(code: string): Promise<KernelStart> {
    return this.#ask({ op: 'start', code }, KernelStart);
  }

  run(code: string, count = 1): Promise<KernelRuns> {
    return this.#ask({ op: 'run', code, count }, KernelRuns);
  }

  async close(): Promise<void> {
    const exited = this.#child.exitCode === null && this.#child.signalCode === null ? once(this.#child, 'exit') : null;
    this.#child.stdin?.end();
    await exited;
    await rm(this.#home, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #ask<T>(command: object, answer: z.ZodType<T>): Promise<T> {
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
    const line: IteratorResult<string, unknown> = await this.#lines.next();
    if (line.done === true) throw new Error(`the driver of ipykernel has ended: ${this.#errors.trim()}`);
    return answer.parse(JSON.parse(line.value));
  }
}

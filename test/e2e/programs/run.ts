/** Runs programs in sessions and in kernels of ipykernel, on the same libraries. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Execution, Host } from '../../../src/index.ts';

/** A program: the cells between its lines `# %%`. */
export interface Program {
  readonly name: string;
  readonly cells: readonly string[];
}

/** Something that a cell showed. */
interface Shown {
  readonly kind: 'result' | 'display';
  readonly data: Readonly<Record<string, unknown>>;
}

/** What a cell said. */
export interface Said {
  readonly stdout: string;
  readonly stderr: string;
  readonly shown: readonly Shown[];
  /** `text` for text to stdout without anything shown in between, and the kind of each thing that was shown. */
  readonly order: readonly string[];
  readonly error: { readonly name: string; readonly value: string } | null;
}

/** What all cells of a program said, and then the cell that tells its variables. */
export interface Told {
  readonly cells: readonly Said[];
  readonly last: Said;
}

/** Loaded before the first program, by sessions and kernels alike: each program would wait for them. */
export const PRELOAD = ['numpy', 'pandas', 'scipy.stats', 'matplotlib.pyplot', 'sklearn.ensemble', 'sympy'];

/** Prints type and text of each variable as JSON, without those that IPython keeps itself. */
const LAST_CELL = `
def _tell():
    import json
    hidden = ("In", "Out", "exit", "quit", "open", "get_ipython")
    def text(value):
        try:
            return f"{type(value).__name__}: {value!r}"[:2000]
        except Exception as error:
            return f"{type(value).__name__}: {type(error).__name__}"
    print(json.dumps({name: text(value) for name, value in globals().items() if name[0] != "_" and name not in hidden}))
_tell()`;

/** Where the programs find their web pages; the server of the test stands in for it. */
const SERVER = 'localhost:8000';
const TIMEOUT_MS = 300_000;

export async function inSessions(host: Host, programs: readonly Program[], port: number): Promise<Map<string, Told>> {
  const told = new Map<string, Told>();
  const waiting = [...programs];
  const work = async (): Promise<void> => {
    for (let program = waiting.shift(); program !== undefined; program = waiting.shift()) {
      told.set(program.name, await inSession(host, program, port));
    }
  };
  await Promise.all([work(), work()]);
  return told;
}

async function inSession(host: Host, { cells }: Program, port: number): Promise<Told> {
  const reaches = cells.some((cell) => cell.includes(SERVER));
  await using session = await host.createSession(reaches ? { network: { allow: [`127.0.0.1:${port}`] } } : {});
  const said: Said[] = [];
  for (const cell of cells) said.push(saidIn(await session.runCode(atServer(cell, port))));
  return { cells: said, last: saidIn(await session.runCode(LAST_CELL)) };
}

function saidIn({ transcript, results, error, outcome }: Execution): Said {
  const status = outcome.status === 'succeeded' ? null : { name: outcome.status, value: '' };
  const shown = results.map(({ kind, data }) => ({ kind: kind === 'result' ? kind : 'display', data }) as const);
  const texts = { stdout: '', stderr: '' };
  const order: string[] = [];
  for (const entry of transcript) {
    if (entry.type === 'result') order.push(shown[entry.index]?.kind ?? '');
    else texts[entry.stream] += entry.text;
    if (entry.type === 'text' && entry.stream === 'stdout' && order.at(-1) !== 'text') order.push('text');
  }
  return { ...texts, shown, order, error: error === undefined ? status : { name: error.name, value: error.value } };
}

export async function inKernels(
  python: string,
  programs: readonly Program[],
  { port, matplotlibDir }: { readonly port: number; readonly matplotlibDir: string },
): Promise<Map<string, Told>> {
  const root = await mkdtemp(path.join(tmpdir(), 'programs-'));
  try {
    const asked = programs.map(({ name, cells }) => ({
      name,
      cells: cells.map((cell) => atServer(cell, port)),
      directory: path.join(root, name),
    }));
    for (const { directory } of asked) await mkdir(directory, { recursive: true });
    const env = {
      PATH: `${path.dirname(python)}:${process.env['PATH']}`,
      LANG: 'C.UTF-8',
      HOME: root,
      IPYTHONDIR: path.join(root, '.ipython'),
      MPLCONFIGDIR: matplotlibDir,
      MPLBACKEND: 'module://matplotlib_inline.backend_inline', // a kernel sets it if matplotlib is not loaded before
      OPENBLAS_NUM_THREADS: '1',
      NO_COLOR: '1',
    };
    const script = path.join(import.meta.dirname, 'kernels.py');
    const child = spawn(python, [script], { cwd: root, env, stdio: ['pipe', 'pipe', 'inherit'], timeout: TIMEOUT_MS });
    const ended = once(child, 'exit');
    child.stdin.end(JSON.stringify({ programs: asked, last: LAST_CELL, preload: PRELOAD }));
    const told = new Map<string, Told>();
    for await (const line of createInterface({ input: child.stdout })) {
      const { name, problem, ...rest } = JSON.parse(line) as Told & { name: string; problem?: string };
      if (problem !== undefined) throw new Error(`The kernel for ${name} failed: ${problem}`);
      told.set(name, rest);
    }
    await ended;
    return told;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

function atServer(cell: string, port: number): string {
  return cell.replaceAll(SERVER, `127.0.0.1:${port}`);
}

/** Jupyter's own tools for notebooks, on the libraries that sessions have. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseConfig } from '../../src/config.ts';
import { run, scrubEnvironment } from '../../src/environment/command.ts';
import type { Notebook } from '../../src/notebook/nbformat.ts';
import { choosePython } from '../../src/host/local/python.ts';
import { installBeside } from '../../tools/side-environment.ts';

const REQUIREMENTS = path.join(import.meta.dirname, 'notebook-requirements.txt');
const RUN_TIMEOUT_MS = 120_000;
/** Warnings are errors: a double id is repaired with no more than a warning. */
const VALIDATE = `
import json, nbformat, sys, warnings
warnings.simplefilter("error")
notebook = json.load(open(sys.argv[1], encoding="utf-8"))
assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
nbformat.validate(notebook)
json.dumps(notebook, ensure_ascii=False).encode()
`;

/** The tools, or why there are none. */
export async function installNotebookTools(): Promise<NotebookTools | { readonly problem: string }> {
  const config = parseConfig({});
  const installed = await installBeside({
    name: 'notebook-tools',
    requirementsFile: REQUIREMENTS,
    dataDir: config.dataDir,
    sessions: await choosePython(config),
    say: () => {},
  });
  if ('problem' in installed) return installed;
  return new NotebookTools(installed.python, path.join(config.dataDir, 'notebook-tools', 'matplotlib'));
}

export class NotebookTools {
  /** The interpreter that has them. */
  readonly python: string;
  /** Where matplotlib keeps its list of fonts. */
  readonly matplotlibDir: string;

  constructor(python: string, matplotlibDir: string) {
    this.python = python;
    this.matplotlibDir = matplotlibDir;
  }

  /** Rejects with what `nbformat.validate` says. */
  async validate(notebook: Notebook): Promise<void> {
    await this.#with(notebook, async (directory) => {
      await this.#run(directory, '-c', VALIDATE, 'notebook.ipynb');
    });
  }

  /** Runs every cell with `nbconvert --execute`, next to these files; an error without its tag rejects. */
  async execute(notebook: Notebook, files: Readonly<Record<string, string>> = {}): Promise<Notebook> {
    return this.#with(notebook, async (directory) => {
      for (const [name, text] of Object.entries(files)) await writeFile(path.join(directory, name), text);
      const options = ['--to', 'notebook', '--execute', '--output', 'executed.ipynb', 'notebook.ipynb'];
      await this.#run(directory, '-m', 'nbconvert', ...options);
      return JSON.parse(await readFile(path.join(directory, 'executed.ipynb'), 'utf8')) as Notebook;
    });
  }

  /** `execute` for a notebook that lies among its files, whose directory also gets what Jupyter writes. */
  async executeFile(file: string): Promise<Notebook> {
    const directory = path.dirname(file);
    const options = ['--to', 'notebook', '--execute', '--output', 'executed.ipynb', path.basename(file)];
    await this.#run(directory, '-m', 'nbconvert', ...options);
    return JSON.parse(await readFile(path.join(directory, 'executed.ipynb'), 'utf8')) as Notebook;
  }

  async #with<T>(notebook: Notebook, use: (directory: string) => Promise<T>): Promise<T> {
    const directory = await mkdtemp(path.join(tmpdir(), 'notebook-'));
    try {
      await writeFile(path.join(directory, 'notebook.ipynb'), `${JSON.stringify(notebook, null, 1)}\n`);
      return await use(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  /** A home of its own: whatever kernels and profiles the machine's user has play no part. */
  async #run(directory: string, ...args: readonly string[]): Promise<void> {
    await mkdir(this.matplotlibDir, { recursive: true });
    const env = { ...scrubEnvironment(process.env), HOME: directory, MPLCONFIGDIR: this.matplotlibDir };
    const { succeeded, errors } = await run([this.python, ...args], {
      env,
      cwd: directory,
      timeoutMs: RUN_TIMEOUT_MS,
    });
    if (!succeeded) throw new Error(errors);
  }
}

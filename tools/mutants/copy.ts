import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { applyTo, type Mutant } from './mutants.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const LONGEST_MS = 10 * 60_000;

/** A test as vitest tells of it. */
interface TestResult {
  readonly fullName: string;
  readonly status: string;
}

/** A copy of this project in which one thing at a time is changed. */
export class Copy implements Disposable {
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'vivarium-mutants-'));

  constructor() {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
    for (const file of listed.toString().split('\0')) {
      if (file === '') continue;
      const target = path.join(this.#directory, file);
      mkdirSync(path.dirname(target), { recursive: true });
      cpSync(path.join(ROOT, file), target, { force: true, recursive: true });
    }
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(this.#directory, 'node_modules'));
  }

  /** Applies a mutant, runs the tests of these files whose names match, and takes the mutant back. */
  async testWith(mutant: Mutant | null, files: readonly string[], name: RegExp): Promise<readonly TestResult[]> {
    if (mutant === null) return this.#test(files, name);
    const file = path.join(this.#directory, mutant.file);
    const source = readFileSync(file, 'utf8');
    writeFileSync(file, applyTo(source, mutant));
    try {
      return await this.#test(files, name);
    } finally {
      writeFileSync(file, source);
    }
  }

  async #test(files: readonly string[], name: RegExp): Promise<readonly TestResult[]> {
    const report = path.join(this.#directory, 'report.json');
    rmSync(report, { force: true });
    const args = ['run', ...files, '-t', name.source, '--reporter=json', `--outputFile=${report}`, '--bail=0'];
    const options = { cwd: this.#directory, timeout: LONGEST_MS, maxBuffer: 1 << 28 };
    await promisify(execFile)('vitest', args, options).catch(() => undefined); // failing tests are what is wanted
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
      testResults: { name: string; status: string; message: string; assertionResults: TestResult[] }[];
    };
    const broken = testResults.find(
      ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
    );
    if (broken !== undefined)
      throw new Error(`${path.relative(this.#directory, broken.name)} does not load: ${broken.message}`);
    return testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status !== 'skipped' && status !== 'pending');
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

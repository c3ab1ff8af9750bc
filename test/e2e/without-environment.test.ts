/** A machine on which no environment could be set up: what the command line and the library say about it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Environment } from '../../src/environment/environment.ts';
import { takeInventory } from '../../src/environment/inventory.ts';
import { createHost } from '../../src/index.ts';

const MAIN = path.resolve(import.meta.dirname, '../../src/cli/main.ts');

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let home: string;
let setUp: Finished;
let environment: Environment;

const NOT_TESTED = 'NOT TESTED: the Python of this machine has statsmodels';
const lacksLibrary = (): boolean => environment.missing.includes('statsmodels');

/** In a home of its own, where no package index can be reached. */
async function vivarium(args: readonly string[], input = ''): Promise<Finished> {
  const { base } = await takeInventory('python3');
  const env = {
    PATH: `${path.dirname(base)}:/usr/bin:/bin`,
    HOME: home,
    VIVARIUM_HOME: path.join(home, 'data'),
    PIP_NO_INDEX: '1',
    UV_NO_INDEX: '1',
    UV_OFFLINE: '1',
  };
  const child = spawn(process.execPath, [MAIN, ...args], { env });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}

beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'vivarium-home-'));
  setUp = await vivarium(['setup']);
  environment = JSON.parse(await readFile(path.join(home, 'data', 'environment.json'), 'utf8')) as Environment;
}, 120_000);
afterAll(() => rm(home, { recursive: true, force: true }));

test('set-up without a package index fails with exit code 1, and says why and what to do', () => {
  const { code, stderr, stdout } = setUp;
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('could not install the libraries');
  expect(stderr).toContain('Check that a package index is reachable');
  expect(stderr).toContain('error: no environment was created');
  expect(stderr).toContain(`vivarium setup --python ${environment.python}`);
  expect(stderr).not.toContain('is ready');
});

test('set-up succeeds when that Python is accepted as it is', async () => {
  const { code } = await vivarium(['setup', '--python', environment.python, '--data-dir', path.join(home, 'accepted')]);
  expect(code).toBe(0);
});

test('the command line says at the first import error that there is no environment', async (context) => {
  if (!lacksLibrary()) return context.skip(NOT_TESTED);
  const run = await vivarium(['run', '-c', 'import statsmodels']);
  expect(run.code).toBe(1);
  expect(run.stderr).toContain("ModuleNotFoundError: No module named 'statsmodels'");
  expect(run.stderr).toContain('vivarium: statsmodels is not installed: there is no environment yet');
  expect(run.stderr).toContain('`vivarium setup` creates one with');
  const repl = await vivarium(['repl'], 'import statsmodels\n');
  expect(repl.stderr).toContain('vivarium: statsmodels is not installed: there is no environment yet');
});

test('the library warns once, at the first import error', async (context) => {
  if (!lacksLibrary()) return context.skip(NOT_TESTED);
  const warnings: Error[] = [];
  const listen = (warning: Error): unknown => warnings.push(warning);
  process.on('warning', listen);
  try {
    await using host = await createHost({ dataDir: path.join(home, 'data'), poolSize: 0 });
    await host.runCode('import not_a_library');
    await host.runCode('import statsmodels');
    await host.runCode('import statsmodels', { clientId: 'other' });
    await new Promise((resolve) => setImmediate(resolve)); // warnings are emitted after the current work
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('statsmodels is not installed: there is no environment yet'),
    ]);
    expect(warnings[0]).toMatchObject({ name: 'VivariumWarning', code: 'VIVARIUM_LIBRARY_MISSING' });
  } finally {
    process.off('warning', listen);
  }
});

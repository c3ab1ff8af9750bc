/** Sandboxes with E2B's own SDK for Python, from PyPI. */
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run, scrubEnvironment } from '../../../src/environment/command.ts';
import { installE2bSdk } from '../../support/e2b-sdk.ts';
import { startE2bServer, type E2bTestbed } from './testbed.ts';

const PROGRAMS = path.join(import.meta.dirname, 'python');
const INSTALL_MS = 5 * 60_000;

let server: E2bTestbed;
let python: string;
beforeAll(async () => {
  const installed = await installE2bSdk();
  if ('problem' in installed) throw new Error(`E2B's SDK could not be installed: ${installed.problem}`);
  ({ python } = installed);
  server = await startE2bServer({ hostOptions: { preload: ['pandas', 'matplotlib.pyplot'] } });
}, INSTALL_MS);
afterAll(() => server?.[Symbol.asyncDispose]());

async function runProgram(name: string): Promise<string> {
  const { apiUrl, sandboxUrl, apiKey } = server.connection;
  const env = {
    ...scrubEnvironment(process.env),
    E2B_API_URL: apiUrl,
    E2B_SANDBOX_URL: sandboxUrl,
    E2B_API_KEY: apiKey,
  };
  const { succeeded, output, errors } = await run([python, path.join(PROGRAMS, name)], { env, timeoutMs: 50_000 });
  expect(succeeded, errors).toBe(true);
  return output;
}

test('state, charts, contexts, files, commands and the life of a sandbox', async () => {
  expect((await runProgram('sandboxes.py')).trim().split('\n')).toEqual([
    'state_and_streams',
    'charts',
    'contexts',
    'abort',
    'files',
    'watch',
    'commands',
    'lifecycle',
  ]);
});

test('the same with coroutines', async () => {
  expect((await runProgram('asynchronous.py')).trim()).toBe('done');
});

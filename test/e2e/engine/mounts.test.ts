/** Mounts below the level `namespaces`: a directory can only be shown at its own path. */
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';

/** Sessions of root have user ids of their own, and this is the only Python that every user surely may run. */
const SYSTEM_PYTHON = '/usr/bin/python3';

let directory: string;
let source: string;
beforeEach(() => {
  directory = mkdtempSync('/var/tmp/viv-mount-');
  source = mkdtempSync('/var/tmp/viv-mount-');
  for (const each of [directory, source]) chmodSync(each, 0o755);
  writeFileSync(path.join(source, 'file'), 'of the host');
});
afterEach(() => {
  for (const each of [directory, source]) rmSync(each, { recursive: true, force: true });
});

describe.skipIf(!existsSync(SYSTEM_PYTHON)).for(['landlock', 'none'] as const)('at the level %s', (isolation) => {
  const open = (): Promise<Host> => createHost({ isolation, poolSize: 0, dataDir: directory, python: SYSTEM_PYTHON });

  test('a mount at another path is refused', async () => {
    await using host = await open();
    const mounts = [{ source, target: '/etc', writable: false }];
    await expect(host.createSession({ mounts })).rejects.toMatchObject({
      code: 'SANDBOX_UNAVAILABLE',
      message: expect.stringMatching(/cannot be shown at \/etc/) as unknown,
    });
  });

  test('a mount at its own path can be read', async () => {
    await using host = await open();
    const mounts = [{ source: `${source}/`, target: source, writable: false }];
    await using session = await host.createSession({ mounts });
    const { logs, error } = await session.runCode(`print(open("${source}/file").read())`);
    expect([logs.stdout, error?.value]).toEqual(['of the host\n', undefined]);
  });
});

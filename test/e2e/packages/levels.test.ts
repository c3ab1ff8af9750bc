/** Packages for an ordinary user, and where there are no namespaces. */
import { execFile } from 'node:child_process';
import { accessSync, chmodSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startIndex, type IndexServer } from '../../support/packages/index-server.ts';
import { compiledWheel, copyUv, makeDataDir } from '../../support/packages/scene.ts';
import { makeWheel } from '../../support/packages/wheel.ts';

/** Every user can reach it, as a session of another user must. */
const SYSTEM_PYTHON = '/usr/bin/python3';
const isRoot = process.getuid?.() === 0;

let index: IndexServer;
let uv: string;
const ends: (() => void)[] = [];
beforeAll(async () => {
  const { dataDir, remove } = await makeDataDir();
  ends.push(remove);
  uv = dataDir;
  const pure = makeWheel({ name: 'alpha', files: { 'alpha.py': 'value = "alpha"\n' } });
  index = await startIndex({ alpha: [pure], 'compiled-demo': [compiledWheel(SYSTEM_PYTHON)] });
  ends.push(() => index.close());
});
afterAll(() => {
  for (const end of ends.toReversed()) end();
});

const cases = [
  { level: 'namespaces', user: 65_534 },
  { level: 'landlock', user: 65_534 },
  { level: 'landlock', user: 0 },
  { level: 'none', user: 65_534 },
] as const;

test.runIf(isRoot && canRun(SYSTEM_PYTHON)).for(cases)('at the level $level, user $user', async ({ level, user }) => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'vivarium-test-'));
  try {
    chmodSync(dataDir, user === 0 ? 0o755 : 0o777);
    copyUv(uv, dataDir);
    const script = path.join(import.meta.dirname, 'installing-session.ts');
    const args = [script, SYSTEM_PYTHON, dataDir, level, index.url];
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent' };
    const { stdout } = await promisify(execFile)(process.execPath, args, { uid: user, gid: user, env, cwd: '/' });
    expect(JSON.parse(stdout)).toEqual({
      level,
      cell: 'Installed alpha 1.0, compiled-demo 1.0\nalpha True 42',
      child: 'alpha',
      second: 'alpha',
      written: 'refused',
    });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

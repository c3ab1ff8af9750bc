/** Closing does not wait until the files of a session are deleted, and they are deleted all the same. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { realPython } from '../../support/python.ts';
import { Laboratory } from './laboratory.ts';

const MANY = 100_000;

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start();
});
afterAll(() => laboratory.close());

/** Makes many names fast: those of a directory are links to one file. */
const fill = (directory: string, count: number): void => {
  const program = `import os
for number in range(${count} // 1000):
    os.mkdir(f"d{number}")
    open(f"d{number}/0", "w").close()
    for name in range(1, 1000):
        os.link(f"d{number}/0", f"d{number}/{name}")`;
  execFileSync(realPython(), ['-c', program], { cwd: directory });
};

test(`a session with ${MANY} files closes at once, and its files are gone from their place`, async () => {
  const { session } = await laboratory.open();
  const directory = session.workspace.path;
  fill(directory, MANY);
  const [instance = ''] = readdirSync(path.join(laboratory.dataDir, 'sessions'));
  const left = (): string[] => readdirSync(path.join(laboratory.dataDir, 'sessions', instance));
  await session.close();
  const aside = left().find((name) => name.includes('.removed-')) ?? 'none';
  const whole = path.join(laboratory.dataDir, 'sessions', instance, aside, 'workspace');
  expect(readdirSync(whole)).toHaveLength(MANY / 1000); // nobody has waited for their removal
  expect(existsSync(directory)).toBe(false);
  await expect.poll(left, { timeout: 60_000, interval: 200 }).toEqual(['owner.sock']);
});

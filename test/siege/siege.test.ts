/** Half a minute of `npm run siege`, beside other tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const MAIN = path.join(import.meta.dirname, 'main.ts');

for (const cgroups of ['yes', 'no']) {
  test(`a hostile session costs its neighbour and the machine next to nothing (control groups: ${cgroups})`, async () => {
    const parameters = [MAIN, '--minutes', '0.3', '--shared', 'yes', '--cgroups', cgroups];
    const siege = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said, [exitCode]] = await Promise.all([text(siege.stdout), once(siege, 'exit') as Promise<[number | null]>]);
    expect(exitCode, said).toBe(0);
    expect(said).toMatch(/^PASS: /m);
  }, 120_000);
}

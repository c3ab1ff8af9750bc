import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { findProgram, run, scrubEnvironment } from './command.ts';

const env = { PATH: '/usr/bin:/bin' };

test('a program is run to its end and heard line by line', async () => {
  const lines: string[] = [];
  const result = await run(['/bin/sh', '-c', 'echo one; echo two >&2'], { env, onLine: (line) => lines.push(line) });
  expect(result).toEqual({ succeeded: true, output: 'one', errors: 'two' });
  expect(lines.toSorted()).toEqual(['one', 'two']);
});

test('a program that fails or does not exist is a result', async () => {
  expect((await run(['/bin/sh', '-c', 'exit 3'], { env })).succeeded).toBe(false);
  expect((await run(['/does/not/exist'], { env })).errors).toContain('ENOENT');
});

test('an abort takes grandchildren along', async () => {
  const controller = new AbortController();
  let grandchild = 0;
  const running = run(['/bin/sh', '-c', 'sleep 300 & echo $!; wait'], {
    env,
    signal: controller.signal,
    onLine: (line) => {
      grandchild = Number(line);
      controller.abort(new Error('stopped'));
    },
  });
  await expect(running).rejects.toThrow('stopped');
  await expect.poll(() => isRunning(grandchild)).toBe(false);
});

test('a program that ignores its deadline is ended', async () => {
  const result = await run(['/bin/sh', '-c', 'trap "" TERM; sleep 300 & wait; sleep 300'], { env, timeoutMs: 100 });
  expect(result.succeeded).toBe(false);
});

test('programs are found on PATH', async () => {
  expect(await findProgram('sh', env)).toMatch(/\/sh$/);
  expect(await findProgram('no-such-program', env)).toBeUndefined();
});

test('children get indexes, proxies and certificates, and nothing that moves or reveals', () => {
  const kept = {
    PATH: '/bin',
    HOME: '/home/a',
    PIP_INDEX_URL: 'i',
    UV_OFFLINE: '1',
    https_proxy: 'p',
    SSL_CERT_FILE: 'c',
  };
  const dropped = { PYTHONPATH: 'x', API_KEY: 'secret', PIP_TARGET: '/', UV_SYSTEM_PYTHON: '1', VIRTUAL_ENV: '/v' };
  expect(scrubEnvironment({ ...kept, ...dropped })).toEqual(kept);
});

/** A killed process may stay as a zombie where process 1 reaps nobody. */
async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State:\tX');
  return !/^State:\s+[XZ]/m.test(status);
}

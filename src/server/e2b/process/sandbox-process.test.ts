import { expect, test } from 'vitest';
import type { Command, ExecResult } from '../../../execution/command.ts';
import { SandboxProcess } from './sandbox-process.ts';

const CONFIG = { cmd: 'sh', args: [], envs: {} };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function commandThatEnds(): { command: Command; end: (result: Partial<ExecResult>) => void } {
  const { promise: result, resolve } = Promise.withResolvers<ExecResult>();
  const usual = { exitCode: 0, signal: null, stdout: '', stderr: '', timedOut: false, durationMs: 1 };
  return {
    command: { pid: 7, result } as unknown as Command,
    end: (given) => resolve({ ...usual, ...given }),
  };
}

test('every reader gets the output from then on, and the end', async () => {
  const process = new SandboxProcess(CONFIG, { tag: 'mine', hasInput: false });
  const { command, end } = commandThatEnds();
  const first = Array.fromAsync(process.read());
  const followed = process.follow(command);
  await process.take({ stream: 'stdout', text: 'one' });
  const second = Array.fromAsync(process.read());
  await process.take({ stream: 'stderr', text: 'two' });
  end({});
  await followed;
  const last = [{ data: { stderr: base64('two') } }, { end: { exitCode: 0, exited: true, status: 'exit status 0' } }];
  expect(await first).toEqual([{ data: { stdout: base64('one') } }, ...last]);
  expect(await second).toEqual(last);
  expect(await Array.fromAsync(process.read())).toEqual(last.slice(1));
  expect(process).toMatchObject({ pid: 7, tag: 'mine', isLate: false });
});

test('the process waits for a reader that is slow, and not for one that has left', async () => {
  const process = new SandboxProcess(CONFIG, { tag: undefined, hasInput: false });
  const feed = process.read();
  let isTaken = false;
  const taken = process.take({ stream: 'stdout', text: 'x' }).then(() => (isTaken = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isTaken).toBe(false);
  process.stopReading(feed);
  await taken;
  await process.take({ stream: 'stdout', text: 'nobody reads it' });
});

test.each([
  [{ exitCode: 3 }, { exitCode: 3, exited: true, status: 'exit status 3', error: 'exit status 3' }],
  [
    { exitCode: null, signal: 'SIGKILL' },
    { exitCode: -1, exited: false, status: 'signal: killed', error: 'signal: killed' },
  ],
  [
    { exitCode: null, signal: 'SIGTERM', reason: 'the session was closed' },
    { exitCode: -1, exited: false, status: 'signal: terminated', error: 'signal: terminated (the session was closed)' },
  ],
])('the end %j is told in the words of E2B', async (result, told) => {
  const process = new SandboxProcess(CONFIG, { tag: undefined, hasInput: false });
  const { command, end } = commandThatEnds();
  const reading = Array.fromAsync(process.read());
  end(result);
  await process.follow(command);
  expect(await reading).toEqual([{ end: told }]);
});

import { expect, test } from 'vitest';
import { Limits } from '../../../config.ts';
import { outcomeOfExit } from './exit.ts';
import { openCommand } from './options.ts';

const EXIT = { code: null, signal: null, cause: null, isGone: false };

test.for([
  [{ code: 0 }, { exitCode: 0, signal: null, reason: 'the process ended by itself with exit code 0' }],
  [{ code: 70 }, { exitCode: 70, signal: null, reason: 'the process ended by itself with exit code 70' }],
  [{ signal: 11 }, { exitCode: null, signal: 'SIGSEGV', reason: 'the process was killed by SIGSEGV' }],
  [
    { signal: 9, cause: 'memory' },
    { exitCode: null, signal: 'SIGKILL', reason: 'the process was killed by SIGKILL' },
  ],
  [
    { signal: 7 },
    {
      exitCode: null,
      signal: 'SIGBUS',
      reason:
        'the process was killed by SIGBUS: it used a mapped file that was cut short, or more shared memory than it may (limits.memoryMb)',
    },
  ],
  [{ signal: 63 }, { exitCode: null, signal: 'signal 63', reason: 'the process was killed by signal 63' }],
  [
    { isGone: true, signal: 9 },
    { exitCode: null, signal: null, reason: "the session's processes were ended from outside (killed)" },
  ],
  [
    { isGone: true, cause: 'zygote' },
    { exitCode: null, signal: null, reason: "the session's processes were ended from outside (zygote)" },
  ],
] as const)('an exit %o is told as %o', ([exit, expected]) => {
  expect(outcomeOfExit({ ...EXIT, ...exit })).toEqual({ status: 'crashed', ...expected });
});

const OPTIONS = { limits: Limits.parse({}), mounts: [], network: false, readOnly: false, twins: true };

test('the zygote gets limits in bytes', () => {
  const limits = Limits.parse({ memoryMb: 100, processes: 5, openFiles: 70, fileMb: 2, rollbackMb: 0 });
  expect(openCommand({ ...OPTIONS, limits })).toMatchObject({
    limits: {
      memoryBytes: 104_857_600,
      cpus: null,
      processes: 5,
      openFiles: 70,
      fileBytes: 2_097_152,
      rollbackBytes: 0,
    },
  });
});

test.for([
  [{}, { workspace: null, uid: null }],
  [{ uid: 5 }, { workspace: null, uid: 5 }],
  [
    { home: { workspace: 'w', uid: 0 }, uid: 5 },
    { workspace: 'w', uid: 0 },
  ],
] as const)('with %o an enclosure gets the home %o', ([options, expected]) => {
  expect(openCommand({ ...OPTIONS, ...options })).toMatchObject(expected);
});

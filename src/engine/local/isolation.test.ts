import { expect, test } from 'vitest';
import { describeIsolation } from './isolation.ts';
import type { ZygoteReady } from './zygote/zygote.ts';

const READY: ZygoteReady = {
  event: 'ready',
  level: 'namespaces',
  python: '3.14',
  ownUids: true,
  proc: 'private',
  cgroup: 'v2',
  cgroupReason: '',
  cgroupControllers: ['memory', 'pids', 'cpu'],
  landlock: 6,
  threads: 1,
  preloadFailures: {},
};

test('a machine that has everything lacks nothing', () => {
  expect(describeIsolation(READY)).toEqual({
    level: 'namespaces',
    uid: 'own',
    files: 'private-root',
    network: 'none',
    proc: 'private',
    memory: ['rlimit', 'watchdog', 'cgroup'],
    processes: ['rlimit', 'cgroup'],
    cpus: ['affinity', 'cgroup'],
    disk: ['rlimit', 'watchdog', 'tmpfs'],
    seccomp: true,
    landlock: 6,
    missing: [],
  });
});

test.for<[Partial<ZygoteReady>, object]>([
  [{ ownUids: false }, { uid: 'shared' }],
  [{ proc: 'none' }, { proc: 'none', missing: ['/proc: this machine allows no fresh one; sessions have none'] }],
  [
    { cgroup: 'none', cgroupReason: 'not mounted', cgroupControllers: [] },
    {
      memory: ['rlimit', 'watchdog'],
      processes: ['rlimit'],
      cpus: ['affinity'],
      disk: ['rlimit', 'watchdog'],
      missing: ['control groups: not mounted'],
    },
  ],
  [
    { cgroupControllers: ['memory'] },
    { memory: ['rlimit', 'watchdog', 'cgroup'], processes: ['rlimit'], cpus: ['affinity'] },
  ],
  [{ landlock: 0 }, { landlock: 0, missing: ['Landlock: not in this kernel'] }],
  [
    { threads: 3, preloadFailures: { torch: 'no such module' } },
    {
      missing: ['a single-threaded zygote: a preloaded library started 2 threads', 'preloaded torch: no such module'],
    },
  ],
  [
    { level: 'landlock', proc: 'none', cgroup: 'v1' },
    { files: 'landlock', network: 'none', proc: 'host', seccomp: true, processes: ['rlimit', 'cgroup'], missing: [] },
  ],
  [
    { level: 'none', landlock: 0 },
    {
      files: 'host',
      network: 'host',
      proc: 'host',
      seccomp: false,
      landlock: 0,
      disk: ['rlimit', 'watchdog'],
      missing: [],
    },
  ],
  [{ level: 'none', landlock: 6 }, { landlock: 0 }],
])('a zygote that found %o has the walls %o', ([found, expected]) => {
  expect(describeIsolation({ ...READY, ...found })).toMatchObject(expected);
});

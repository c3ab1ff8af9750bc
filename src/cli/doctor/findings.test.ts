import { describe, expect, test } from 'vitest';
import type { Environment } from '../../environment/environment.ts';
import { LIBRARY_SETS } from '../../environment/library-sets.ts';
import type { Isolation } from '../../execution/isolation.ts';
import {
  describeLimits,
  describeProbe,
  describePython,
  describeWalls,
  type DoctorFinding,
  type WallProbe,
} from './findings.ts';

const STRONGEST: Isolation = {
  level: 'namespaces',
  uid: 'own',
  files: 'private-root',
  network: 'none',
  proc: 'private',
  memory: ['rlimit', 'cgroup'],
  processes: ['rlimit', 'cgroup'],
  cpus: ['affinity', 'cgroup'],
  disk: ['watchdog'],
  seccomp: true,
  landlock: 6,
  missing: [],
};
const USE_DEFAULT = 'omit --isolation and VIVARIUM_ISOLATION to get the strongest isolation';

function named(findings: readonly DoctorFinding[], name: string): DoctorFinding | undefined {
  return findings.find((finding) => finding.name === name);
}

describe('Python', () => {
  const libraries = Object.fromEntries(LIBRARY_SETS.core.map((name) => [name, '1.2.3']));
  const environment: Environment = {
    python: '/env/bin/python',
    version: '3.13.0',
    source: 'managed',
    libraries,
    missing: [],
    cacheDir: '/cache',
  };

  test.for([
    ['managed', '3.13.0, /env/bin/python (made by `vivarium setup`)'],
    ['given', '3.13.0, /env/bin/python (chosen by you)'],
    ['found', '3.13.0, /env/bin/python (the best one found on this machine)'],
    ['remote', '3.13.0, /env/bin/python (on a Jupyter server)'],
  ] as const)('that is %s, with all libraries, is fine', ([source, detail]) => {
    const findings = describePython({ ...environment, source });
    expect(findings[0]).toEqual({ group: 'Python', name: 'interpreter', status: 'ok', detail });
    expect(findings.slice(1).map(({ name, status, detail: version }) => [name, status, version])).toEqual(
      LIBRARY_SETS.core.map((name) => [name, 'ok', '1.2.3']),
    );
  });

  test('an environment of set-up says its set, and what it lacks of it', () => {
    const { openpyxl: _, ...most } = Object.fromEntries(LIBRARY_SETS.full.map((name) => [name, '1.2.3']));
    const findings = describePython({ ...environment, set: 'full', libraries: most });
    expect(named(findings, 'set of libraries')).toMatchObject({ status: 'ok', detail: 'full, 48 libraries' });
    expect(findings.filter(({ status }) => status === 'weak').map(({ name }) => name)).toEqual(['openpyxl']);
    const small = describePython({ ...environment, set: 'core' });
    expect(named(small, 'set of libraries')?.detail).toContain('`vivarium setup --set full` installs more');
    expect(small.every(({ status }) => status === 'ok')).toBe(true);
  });

  test.for([
    ['given', '/env/bin/python -m pip install pandas'],
    ['managed', 'run `vivarium setup` with access to a package index'],
    ['found', 'run `vivarium setup` with access to a package index'],
  ] as const)('that is %s and lacks a library gets advice that works for it', ([source, advice]) => {
    const { pandas: _, ...rest } = libraries;
    const findings = describePython({ ...environment, source, libraries: rest });
    expect(named(findings, 'pandas')).toEqual({
      group: 'Python',
      name: 'pandas',
      status: 'weak',
      detail: 'missing',
      advice,
    });
    expect(findings.filter(({ status }) => status !== 'ok')).toHaveLength(1);
  });
});

describe('Walls', () => {
  test('at their strongest need no advice', () => {
    const findings = describeWalls(STRONGEST, {});
    expect(findings.map(({ name, status, detail }) => [name, status, detail])).toEqual([
      ['level', 'ok', 'namespaces'],
      ['files', 'ok', 'a private root: read-only system, own /workspace and /tmp'],
      ['network', 'ok', 'only a loopback of its own'],
      ['/proc', 'ok', 'shows only the processes of the session'],
      ['user', 'ok', 'a user id of its own'],
      ['system calls', 'ok', 'filtered by seccomp'],
      ['landlock', 'ok', 'ABI 6'],
    ]);
    expect(findings.every((finding) => finding.advice === undefined)).toBe(true);
  });

  test.for([
    ['level', { level: 'landlock' }, 'landlock'],
    ['files', { files: 'landlock' }, 'the files of this machine, restricted by Landlock'],
    ['files', { files: 'host' }, 'all files of this machine that you can read and write'],
    ['network', { network: 'host' }, 'the network of this machine'],
    ['/proc', { proc: 'none' }, 'not mounted'],
    ['/proc', { proc: 'host' }, 'shows all processes of this machine'],
    ['user', { level: 'landlock', uid: 'shared' }, 'your user id; if you run as root, each session gets its own'],
    ['system calls', { seccomp: false }, 'not filtered'],
    ['landlock', { landlock: 0 }, 'not used'],
  ] as const)('%s is weak with %j', ([name, weaker, detail]) => {
    expect(named(describeWalls({ ...STRONGEST, ...weaker }, {}), name)).toEqual({
      group: 'Walls',
      name,
      status: 'weak',
      detail,
      advice: USE_DEFAULT,
    });
  });

  test('a shared user id is no weakness within namespaces', () => {
    expect(named(describeWalls({ ...STRONGEST, uid: 'shared' }, {}), 'user')?.status).toBe('ok');
  });

  test('the advice is what the machine lacks, unless weaker isolation was asked for', () => {
    const probe: WallProbe = {
      proc: { ok: false, detail: 'mount /proc privately' },
      seccomp: { ok: false, detail: 'build the kernel with seccomp' },
      landlock: { ok: false, detail: 'use Linux 5.13 or later' },
    };
    const weak = { proc: 'host', seccomp: false, landlock: 0 } as const;
    const advice = (isolation: Isolation): unknown[] =>
      ['/proc', 'system calls', 'landlock'].map((name) => named(describeWalls(isolation, probe), name)?.advice);
    expect(advice({ ...STRONGEST, ...weak })).toEqual([
      'mount /proc privately',
      'build the kernel with seccomp',
      'use Linux 5.13 or later',
    ]);
    expect(advice({ ...STRONGEST, ...weak, level: 'none' })).toEqual([USE_DEFAULT, USE_DEFAULT, USE_DEFAULT]);
  });
});

describe('Limits', () => {
  test('with control groups are fine', () => {
    const findings = describeLimits(STRONGEST, { cgroup: { ok: true, detail: 'v2' } });
    expect(findings.map(({ name, status }) => [name, status])).toEqual(
      ['memory', 'processes', 'processors', 'disk', 'time', 'open files', 'output'].map((name) => [name, 'ok']),
    );
    expect(findings[0]?.detail).toBe('rlimit, cgroup');
  });

  test.for([
    ['memory', 'a writable control group of the memory controller would add a limit of the kernel'],
    ['processes', 'a writable control group of the pids controller would add a limit of the kernel'],
    ['processors', 'a writable control group of the cpu controller would add a limit of the kernel'],
  ] as const)('on %s without a control group are weak, and the advice names the controller', ([name, advice]) => {
    const isolation = { ...STRONGEST, memory: ['rlimit'], processes: ['rlimit'], cpus: ['affinity'] } as const;
    expect(named(describeLimits(isolation, { cgroup: { ok: true, detail: 'v2' } }), name)).toMatchObject({
      status: 'weak',
      detail: name === 'processors' ? 'affinity' : 'rlimit',
      advice,
    });
    const refused = { cgroup: { ok: false, detail: 'delegate a control group' } };
    expect(named(describeLimits(isolation, refused), name)?.advice).toBe('delegate a control group');
    expect(named(describeLimits(isolation, {}), name)?.status).toBe('ok'); // not known, so nothing to advise
  });
});

describe('What the kernel allows', () => {
  test.for(['userNamespace', 'namespaces', 'seccomp', 'pidfd'])('%s is required', (key) => {
    const [finding] = describeProbe({ [key]: { ok: false, detail: 'allow it' } });
    expect(finding).toMatchObject({ group: 'Walls', status: 'failed', detail: 'refused', advice: 'allow it' });
  });

  test.for(['proc', 'landlock', 'landlockLevel', 'cgroup', 'sessionUids', 'something new'])('%s is not', (key) => {
    const [finding] = describeProbe({ [key]: { ok: false, detail: 'allow it' } });
    expect(finding).toMatchObject({ group: 'Walls', status: 'weak', detail: 'not available', advice: 'allow it' });
  });

  test('is named for people, in the order of the probe', () => {
    const fine = { ok: true, detail: 'works' };
    const findings = describeProbe({ userNamespace: fine, proc: fine, sessionUids: fine, unknown: fine });
    expect(findings).toEqual(
      ['user namespace', 'own /proc', 'own user ids', 'unknown'].map((name) => ({
        group: 'Walls',
        name,
        status: 'ok',
        detail: 'works',
      })),
    );
  });
});

/** What `doctor` says of each thing: how it is, and what to do where it could be better. */
import type { Environment } from '../../environment/environment.ts';
import { PROMISED_LIBRARIES } from '../../environment/inventory.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { ProbeAnswer } from './machine.ts';

export interface Finding {
  readonly group: 'Python' | 'Walls' | 'Limits' | 'Machine';
  readonly name: string;
  /** `weak`: works, though less well than it could. */
  readonly status: 'ok' | 'weak' | 'failed';
  readonly detail: string;
  /** What to do; always there when something is not ok. */
  readonly advice?: string;
}

type Group = Finding['group'];
export type Probe = Readonly<Record<string, ProbeAnswer>>;

export function ok(group: Group, name: string, detail: string): Finding {
  return { group, name, status: 'ok', detail };
}

export function weak(group: Group, name: string, detail: string, advice: string): Finding {
  return { group, name, status: 'weak', detail, advice };
}

export function failed(group: Group, name: string, detail: string, advice: string): Finding {
  return { group, name, status: 'failed', detail, advice };
}

const SOURCES = {
  managed: 'made by `vivarium setup`',
  given: 'named by you',
  found: 'the best one on this machine',
  remote: 'that of a Jupyter server',
} as const satisfies Record<Environment['source'], string>;

export function describePython(environment: Environment): Finding[] {
  const { python, version, source, libraries } = environment;
  const advice = (name: string): string =>
    source === 'given'
      ? `${python} -m pip install ${name}`
      : 'run `vivarium setup` where a package index can be reached';
  return [
    ok('Python', 'interpreter', `${version}, ${python} (${SOURCES[source]})`),
    ...PROMISED_LIBRARIES.map((name) =>
      libraries[name] === undefined
        ? weak('Python', name, 'missing', advice(name))
        : ok('Python', name, libraries[name]),
    ),
  ];
}

const BUILD_WALLS = 'leave out --isolation and VIVARIUM_ISOLATION to have the strongest walls';

/** The walls of a session that was opened. */
export function describeWalls(isolation: Isolation, probe: Probe): Finding[] {
  const walls = (name: string, isBest: boolean, detail: string, advice: string): Finding =>
    isBest ? ok('Walls', name, detail) : weak('Walls', name, detail, advice);
  const { level, files, network, proc, uid, seccomp, landlock } = isolation;
  const whyNot = (name: string): string => probe[name]?.detail ?? BUILD_WALLS;
  const reason = level === 'namespaces' ? undefined : BUILD_WALLS;
  return [
    walls('level', level === 'namespaces', level, BUILD_WALLS),
    walls('files', files === 'private-root', FILES[files], BUILD_WALLS),
    walls(
      'network',
      network === 'none',
      network === 'none' ? 'none but its own loopback' : 'that of the host',
      BUILD_WALLS,
    ),
    walls('/proc', proc === 'private', PROC[proc], reason ?? whyNot('proc')),
    walls('user', uid === 'own' || level === 'namespaces', USER[uid], BUILD_WALLS),
    walls('system calls', seccomp, seccomp ? 'filtered by seccomp' : 'not filtered', reason ?? whyNot('seccomp')),
    walls('landlock', landlock > 0, landlock > 0 ? `ABI ${landlock}` : 'not used', reason ?? whyNot('landlock')),
  ];
}

const FILES = {
  'private-root': 'a root of its own: read-only system, own /workspace and /tmp',
  landlock: 'those of the host, closed by Landlock',
  host: 'those of the host, all that you can read and write',
} as const satisfies Record<Isolation['files'], string>;

const USER = {
  own: 'a user id of its own',
  shared: 'your user id; as root each session would get one of its own',
} as const satisfies Record<Isolation['uid'], string>;

const PROC = {
  private: 'its own processes only',
  none: 'none',
  host: 'that of the host',
} as const satisfies Record<Isolation['proc'], string>;

export function describeLimits({ memory, processes, disk }: Isolation, probe: Probe): Finding[] {
  const cgroup = probe['cgroup'];
  const grouped = (name: string, mechanisms: readonly string[]): Finding =>
    mechanisms.includes('cgroup') || cgroup === undefined
      ? ok('Limits', name, mechanisms.join(', '))
      : weak('Limits', name, mechanisms.join(', '), cgroup.ok ? 'control groups are switched off' : cgroup.detail);
  return [
    grouped('memory', memory),
    grouped('processes', processes),
    ok('Limits', 'disk', disk.join(', ')),
    ok('Limits', 'time', 'clock and processor time: interrupt first, then kill'),
    ok('Limits', 'open files', 'rlimit'),
    ok('Limits', 'output', 'budget of the host; head and tail are kept'),
  ];
}

const PROBE_NAMES: Readonly<Record<string, string>> = {
  userNamespace: 'user namespace',
  namespaces: 'all namespaces',
  proc: 'own /proc',
  landlock: 'landlock',
  seccomp: 'seccomp',
  cgroup: 'control groups',
  pidfd: 'pidfd',
  sessionUids: 'own user ids',
};

/** Without these no session has walls. */
const REQUIRED = ['userNamespace', 'namespaces', 'seccomp', 'pidfd'];

/** What the kernel allows, where no session could be opened. */
export function describeProbe(probe: Probe): Finding[] {
  return Object.entries(probe).map(([key, { ok: works, detail }]) => {
    const name = PROBE_NAMES[key] ?? key;
    if (works) return ok('Walls', name, detail);
    return REQUIRED.includes(key) ? failed('Walls', name, 'refused', detail) : weak('Walls', name, 'not here', detail);
  });
}

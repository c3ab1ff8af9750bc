/** What `vivarium doctor` reports: how each thing is, and how to improve it. */
import type { Environment } from '../../environment/environment.ts';
import { LIBRARY_SETS, missingFrom, type LibrarySet } from '../../environment/library-sets.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { ProbeAnswer } from './machine.ts';

export interface DoctorFinding {
  readonly group: 'Python' | 'Walls' | 'Limits' | 'Machine';
  readonly name: string;
  /** `weak`: works, but not as well as it could. */
  readonly status: 'ok' | 'weak' | 'failed';
  readonly detail: string;
  /** What to do. Present unless the status is `ok`. */
  readonly advice?: string;
}

type FindingGroup = DoctorFinding['group'];
export type WallProbe = Readonly<Record<string, ProbeAnswer>>;

export function ok(group: FindingGroup, name: string, detail: string): DoctorFinding {
  return { group, name, status: 'ok', detail };
}

export function weak(group: FindingGroup, name: string, detail: string, advice: string): DoctorFinding {
  return { group, name, status: 'weak', detail, advice };
}

export function failed(group: FindingGroup, name: string, detail: string, advice: string): DoctorFinding {
  return { group, name, status: 'failed', detail, advice };
}

const SOURCES = {
  managed: 'made by `vivarium setup`',
  given: 'chosen by you',
  found: 'the best one found on this machine',
  remote: 'on a Jupyter server',
} as const satisfies Record<Environment['source'], string>;

export function describePython(environment: Environment): DoctorFinding[] {
  const { python, version, source, libraries, set } = environment;
  const advice = (name: string): string =>
    source === 'given' ? `${python} -m pip install ${name}` : 'run `vivarium setup` with access to a package index';
  return [
    ok('Python', 'interpreter', `${version}, ${python} (${SOURCES[source]})`),
    ...(set === undefined ? [] : [ok('Python', 'set of libraries', describeSet(set))]),
    ...LIBRARY_SETS.core.map((name) => describeLibrary(name, libraries[name], advice(name))),
    ...missingFrom(set ?? 'core', libraries)
      .filter((name) => !LIBRARY_SETS.core.some((core) => core === name))
      .map((name) => describeLibrary(name, undefined, advice(name))),
  ];
}

function describeLibrary(name: string, version: string | undefined, advice: string): DoctorFinding {
  return version === undefined ? weak('Python', name, 'missing', advice) : ok('Python', name, version);
}

function describeSet(set: LibrarySet): string {
  const size = `${LIBRARY_SETS[set].length} libraries`;
  return set === 'full' ? `full, ${size}` : `${set}, ${size}; \`vivarium setup --set full\` installs more`;
}

const USE_DEFAULT = 'omit --isolation and VIVARIUM_ISOLATION to get the strongest isolation';

/** The walls around a session that was opened. */
export function describeWalls(isolation: Isolation, probe: WallProbe): DoctorFinding[] {
  const walls = (name: string, isBest: boolean, detail: string, advice: string): DoctorFinding =>
    isBest ? ok('Walls', name, detail) : weak('Walls', name, detail, advice);
  const { level, files, network, proc, uid, seccomp, landlock } = isolation;
  const whyNot = (name: string): string => probe[name]?.detail ?? USE_DEFAULT;
  const reason = level === 'namespaces' ? undefined : USE_DEFAULT;
  return [
    walls('level', level === 'namespaces', level, USE_DEFAULT),
    walls('files', files === 'private-root', FILES[files], USE_DEFAULT),
    walls(
      'network',
      network === 'none',
      network === 'none' ? 'only a loopback of its own' : 'the network of this machine',
      USE_DEFAULT,
    ),
    walls('/proc', proc === 'private', PROC[proc], reason ?? whyNot('proc')),
    walls('user', uid === 'own' || level === 'namespaces', USER[uid], USE_DEFAULT),
    walls('system calls', seccomp, seccomp ? 'filtered by seccomp' : 'not filtered', reason ?? whyNot('seccomp')),
    walls('landlock', landlock > 0, landlock > 0 ? `ABI ${landlock}` : 'not used', reason ?? whyNot('landlock')),
  ];
}

const FILES = {
  'private-root': 'a private root: read-only system, own /workspace and /tmp',
  landlock: 'the files of this machine, restricted by Landlock',
  host: 'all files of this machine that you can read and write',
} as const satisfies Record<Isolation['files'], string>;

const USER = {
  own: 'a user id of its own',
  shared: 'your user id; if you run as root, each session gets its own',
} as const satisfies Record<Isolation['uid'], string>;

const PROC = {
  private: 'shows only the processes of the session',
  none: 'not mounted',
  host: 'shows all processes of this machine',
} as const satisfies Record<Isolation['proc'], string>;

export function describeLimits({ memory, processes, cpus, disk }: Isolation, probe: WallProbe): DoctorFinding[] {
  const cgroup = probe['cgroup'];
  const grouped = (name: string, mechanisms: readonly string[], controller: string): DoctorFinding => {
    const detail = mechanisms.join(', ');
    if (mechanisms.includes('cgroup') || cgroup === undefined) return ok('Limits', name, detail);
    const advice = `a writable control group of the ${controller} controller would add a limit of the kernel`;
    return weak('Limits', name, detail, cgroup.ok ? advice : cgroup.detail);
  };
  return [
    grouped('memory', memory, 'memory'),
    grouped('processes', processes, 'pids'),
    grouped('processors', cpus, 'cpu'),
    ok('Limits', 'disk', disk.join(', ')),
    ok('Limits', 'time', 'wall clock and processor time: interrupted first, then killed'),
    ok('Limits', 'open files', 'rlimit'),
    ok('Limits', 'output', 'long output is shortened to its head and tail'),
  ];
}

const PROBE_NAMES: Readonly<Record<string, string>> = {
  userNamespace: 'user namespace',
  namespaces: 'all namespaces',
  proc: 'own /proc',
  landlock: 'landlock',
  landlockLevel: 'level landlock',
  seccomp: 'seccomp',
  cgroup: 'control groups',
  pidfd: 'pidfd',
  sessionUids: 'own user ids',
};

/** No session can be isolated without these. */
const REQUIRED = ['userNamespace', 'namespaces', 'seccomp', 'pidfd'];

/** What the kernel allows, for a machine on which no session could be opened. */
export function describeProbe(probe: WallProbe): DoctorFinding[] {
  return Object.entries(probe).map(([key, { ok: works, detail }]) => {
    const name = PROBE_NAMES[key] ?? key;
    if (works) return ok('Walls', name, detail);
    return REQUIRED.includes(key)
      ? failed('Walls', name, 'refused', detail)
      : weak('Walls', name, 'not available', detail);
  });
}

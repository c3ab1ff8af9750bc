import type { Isolation, Mechanism } from '../../execution/isolation.ts';
import type { ZygoteReady } from './zygote/zygote.ts';

/**
 * What the walls of a zygote's sessions consist of, from what it found when it built them. Its first workers test that
 * they hold, and end without running anything if they do not: see python/_vivarium/confine/selftest.py.
 */
export function describeIsolation(ready: ZygoteReady): Isolation {
  const grouped: Mechanism[] = ready.cgroup === 'none' ? [] : ['cgroup'];
  const isWalled = ready.level === 'namespaces';
  const tmpfs: Mechanism[] = isWalled && ready.cgroup !== 'none' ? ['tmpfs'] : [];
  const missing = [
    ...(ready.cgroup === 'none' ? [`control groups: ${ready.cgroupReason}`] : []),
    ...(isWalled && ready.proc === 'none' ? ['/proc: this machine allows no fresh one; sessions have none'] : []),
    ...(ready.level !== 'none' && ready.landlock === 0 ? ['Landlock: not in this kernel'] : []),
    ...(ready.threads > 1
      ? [`a single-threaded zygote: a preloaded library started ${ready.threads - 1} threads`]
      : []),
    ...Object.entries(ready.preloadFailures).map(([name, reason]) => `preloaded ${name}: ${reason}`),
  ];
  return {
    level: ready.level,
    uid: ready.ownUids ? 'own' : 'shared',
    files: isWalled ? 'private-root' : ready.level === 'landlock' ? 'landlock' : 'host',
    network: ready.level === 'none' ? 'host' : 'none',
    proc: isWalled ? (ready.proc === 'none' ? 'none' : 'private') : 'host',
    memory: ['rlimit', 'watchdog', ...grouped],
    processes: ['rlimit', ...(ready.cgroupControllers.includes('pids') ? grouped : [])],
    cpus: ['affinity', ...(ready.cgroupControllers.includes('cpu') ? grouped : [])],
    disk: ['rlimit', 'watchdog', ...tmpfs],
    seccomp: ready.level !== 'none',
    landlock: ready.level === 'none' ? 0 : ready.landlock,
    missing,
  };
}

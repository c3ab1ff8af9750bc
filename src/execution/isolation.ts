import type { Level } from '../config.ts';

/** What is enforced for a session, and by what. It is found by building the walls, and tested before the first code runs. */
export interface Isolation {
  /** `jupyter`: nothing of ours confines the kernels of a Jupyter server. */
  readonly level: Level | 'jupyter';
  /** Whether each session has a user id of its own on this machine. Only root can give one. */
  readonly uid: 'own' | 'shared';
  readonly files: 'private-root' | 'landlock' | 'host';
  /** `list`: only the hosts on a list, through the gate. */
  readonly network: 'none' | 'list' | 'host';
  readonly proc: 'private' | 'none' | 'host';
  readonly memory: readonly Mechanism[];
  readonly processes: readonly Mechanism[];
  /** What holds a session to `limits.cpus`. Only a control group can hold it to a part of a processor. */
  readonly cpus: readonly Mechanism[];
  readonly disk: readonly Mechanism[];
  readonly seccomp: boolean;
  /** Landlock ABI version; 0 if the kernel has none. */
  readonly landlock: number;
  /** What this machine lacks, and what to do about it. */
  readonly missing: readonly string[];
}

/** The same where a session has a setting of its own for the network. */
export function withNetwork(isolation: Isolation, network: boolean | object): Isolation {
  if (network === false) return isolation;
  return { ...isolation, network: network === true ? 'host' : 'list' };
}

export type Mechanism = 'cgroup' | 'rlimit' | 'watchdog' | 'tmpfs' | 'affinity';

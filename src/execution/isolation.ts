import type { Level } from '../config.ts';

/** What is enforced for a session, and by what. Found by building it, and tried before the first code runs. */
export interface Isolation {
  /** `jupyter`: whatever confines the kernels of a Jupyter server; nothing of ours does. */
  readonly level: Level | 'jupyter';
  /** Whether each session has a host user id of its own (only root can give one). */
  readonly uid: 'own' | 'shared';
  readonly files: 'private-root' | 'landlock' | 'host';
  readonly network: 'none' | 'host';
  readonly proc: 'private' | 'none' | 'host';
  readonly memory: readonly Mechanism[];
  readonly processes: readonly Mechanism[];
  readonly disk: readonly Mechanism[];
  readonly seccomp: boolean;
  /** Landlock ABI version; 0 where the kernel has none. */
  readonly landlock: number;
  /** What this machine lacks, and what to do about it. */
  readonly missing: readonly string[];
}

export type Mechanism = 'cgroup' | 'rlimit' | 'watchdog' | 'tmpfs';

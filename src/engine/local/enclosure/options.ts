import type { Limits } from '../../../config.ts';
import type { HeldMount } from '../mount/table.ts';

/** Everything that the walls of a session depend on. */
export interface EnclosureOptions {
  readonly limits: Limits;
  readonly mounts: readonly HeldMount[];
  readonly network: boolean;
  readonly readOnly: boolean;
  readonly twins: boolean;
  /** The user that its processes run as, where sessions have users of their own; a new one by default. */
  readonly uid?: number;
  /** The home of an earlier enclosure, whose files are to be used again. */
  readonly home?: Home;
}

/** Where the files of an enclosure are below the directory of all sessions, and whose they are. */
export interface Home {
  readonly workspace: string;
  readonly uid: number;
}

/** The options as the zygote takes them. */
export function openCommand({ limits, mounts, network, readOnly, twins, uid, home }: EnclosureOptions): object {
  return {
    workspace: home?.workspace ?? null,
    uid: home?.uid ?? uid ?? null,
    hasMounts: mounts.length > 0, // the zygote, whose memory all later sessions inherit, must not know them
    network,
    readOnly,
    twins,
    limits: {
      memoryBytes: limits.memoryMb * 2 ** 20,
      processes: limits.processes,
      openFiles: limits.openFiles,
      fileBytes: limits.fileMb * 2 ** 20,
      rollbackBytes: limits.rollbackMb * 2 ** 20,
    },
  };
}

/** What is wrong with a program that has passed the limit of its files. */
export function describeExcess({ workspaceMb }: Limits): string {
  return `wrote more than the ${workspaceMb} MB that the workspace and /tmp may hold (limits.workspaceMb)`;
}

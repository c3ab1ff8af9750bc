import type { Limits, Mount } from '../../../config.ts';
import type { Reception } from '../premises/reception.ts';
import type { Zygote } from '../zygote/zygote.ts';

/** What a link is opened with; everything that the walls of a session depend on. */
export interface LinkOptions {
  readonly limits: Limits;
  readonly mounts: readonly Mount[];
  readonly network: boolean;
  readonly readOnly: boolean;
  readonly twins: boolean;
  /** The user that its processes are, where sessions have users of their own; without it a new one. */
  readonly uid?: number;
  /** The place of an earlier link, whose files are to be found again. */
  readonly place?: Place;
}

/** Where a session's files are, and whose they are. */
export interface Place {
  readonly workspace: string;
  readonly uid: number;
}

/** How a worker came to its end; decided outside of the session. */
export interface Exit {
  readonly code: number | null;
  readonly signal: number | null;
  readonly cause: string | null;
  /** Whether the enclosure, and with it every twin, is gone too. */
  readonly isGone: boolean;
}

export interface LinkHost {
  readonly zygote: Zygote;
  readonly reception: Reception;
  readonly sessionsDir: string;
}

/** How the zygote is asked for it. */
export function openCommand({ limits, mounts, network, readOnly, twins, uid, place }: LinkOptions): object {
  return {
    workspace: place?.workspace ?? null,
    uid: place?.uid ?? uid ?? null,
    mounts,
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

import type { Limits, NetworkSetting, SecretInput } from '../../../config.ts';
import type { HeldMount } from '../mount/table.ts';
import { zygoteLimits } from '../zygote/limits.ts';

/** Everything that the walls of a session depend on. */
export interface EnclosureOptions {
  readonly limits: Limits;
  readonly mounts: readonly HeldMount[];
  readonly network: NetworkSetting;
  /** For the gate alone. */
  readonly secrets?: Readonly<Record<string, SecretInput>>;
  /** Hosts of the list that may be at a private address; for the gate alone. */
  readonly trustedHosts?: readonly string[];
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
    network: network === true,
    listed: typeof network === 'object', // which hosts is none of its business either
    readOnly,
    twins,
    limits: zygoteLimits(limits),
  };
}

/** A mount without its path on the machine, which the session must not know. */
export function asSeenInside({ target, writable, device, inode }: HeldMount): object {
  return { target, writable, device, inode };
}

/** What is wrong with a program that has passed the limit of its files. */
export function describeExcess({ workspaceMb }: Limits): string {
  return `wrote more than the ${workspaceMb} MB that the workspace and /tmp may hold (limits.workspaceMb)`;
}

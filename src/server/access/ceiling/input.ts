import { z } from 'zod';
import {
  Mount,
  Network,
  Packages,
  type LimitsInput,
  type MountInput,
  type NetworkInput,
  type PackagePolicy,
} from '../../../config.ts';
import type { Host } from '../../../host/host.ts';
import { LimitsSchema } from '../../../wire/options.ts';
import type { Ceiling } from './ceiling.ts';

/** What requests may ask for, where that differs from what sessions of the host have anyway. */
export interface CeilingInput {
  /** A requested mount must be one of these or lie inside of one, and be writable only if that is. None by default. */
  readonly mounts?: readonly MountInput[] | undefined;
  /** The most that a session may reach; by default what sessions of the host reach. */
  readonly network?: NetworkInput | undefined;
  /** What may be installed; by default what programs of the host may install. */
  readonly packages?: PackagePolicy | undefined;
  /** The highest limits of a session and a run; by default those of the host, and ten minutes for a run that asks for them. */
  readonly limits?: LimitsInput | undefined;
}

export const CeilingInput = z.strictObject({
  mounts: z.array(Mount).readonly().optional(),
  network: Network.optional(),
  packages: Packages.optional(),
  limits: LimitsSchema.optional(),
});

/** Tasks, agents and E2B's SDKs ask for more than the minute that a run gets by default. */
const LONGEST_RUN_MS = 600_000;

/** The ceiling of a server. */
export function ceilingOf({ access, limits }: Host, given: z.output<typeof CeilingInput>): Ceiling {
  return {
    mounts: given.mounts ?? [],
    network: given.network ?? access.network,
    packages: given.packages ?? access.packages,
    limits: { ...limits, timeoutMs: Math.max(limits.timeoutMs, LONGEST_RUN_MS), ...given.limits },
  };
}

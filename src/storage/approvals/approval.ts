import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Name, text, type Json } from '../database/values.ts';

const MAX_CODE_LENGTH = 1 << 20;

/** Longest that a decision may be waited for: ten years, which dates can hold. */
const MAX_WAIT_MS = 10 * 365 * 86_400_000;

export const STATUSES = ['pending', 'approved', 'edited', 'rejected', 'responded', 'expired'] as const;
export type ApprovalStatus = (typeof STATUSES)[number];

const Code = text(MAX_CODE_LENGTH);

/** What an approval is asked for with. `threadId` to `attempt`, with the code, tell it from any other. */
export const ApprovalRequest = z.strictObject({
  threadId: Name,
  checkpointNs: text(2048).default(''),
  /** Tells two requests of one thread apart that lead to the same code. Must survive a crash: keep it in the state. */
  requestId: Name,
  attempt: z.int().nonnegative(),
  code: Code,
  /** What the reviewer is shown: request, analysis, effects. */
  payload: z.custom<Json>((value) => value !== undefined, 'must be JSON').default(null),
  requestedBy: Name,
  /** Null: it waits for as long as it takes. */
  expiresInMs: z.int().nonnegative().max(MAX_WAIT_MS).nullable().default(null),
});
export type ApprovalRequest = z.input<typeof ApprovalRequest>;

/** What a reviewer says. */
export const Decision = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('approve') }),
  z.strictObject({ type: z.literal('edit'), code: Code, reason: text(16_384).optional() }),
  z.strictObject({ type: z.literal('reject'), reason: text(16_384).optional() }),
  z.strictObject({ type: z.literal('respond'), text: text(65_536).min(1) }),
]);
export type Decision = z.infer<typeof Decision>;

export const STATUS_AFTER = {
  approve: 'approved',
  edit: 'edited',
  reject: 'rejected',
  respond: 'responded',
} as const satisfies Record<Decision['type'], ApprovalStatus>;

/** A decision as it is kept: who made it and when. `codeSha256` is that of the code that may run now, if any may. */
export type Decided = Decision & { readonly by: string; readonly at: Date; readonly codeSha256?: string };

interface Claimed {
  readonly owner: string;
  readonly claimedAt: Date;
}

/**
 * The one run of approved code. It is `unknown` when its owner has neither finished nor renewed its lease in time: the
 * code may have run, in part or in full. Nobody else may run it then, but an owner who was only slow may still finish.
 */
export type ApprovedRun = Claimed &
  (
    | { readonly status: 'running' | 'unknown'; readonly leaseUntil: Date }
    | { readonly status: 'finished'; readonly finishedAt: Date; readonly outcome: Json }
  );

/** Code that waits, or waited, for somebody to allow it. */
export interface Approval {
  readonly id: string;
  readonly threadId: string;
  readonly checkpointNs: string;
  readonly requestId: string;
  readonly attempt: number;
  readonly code: string;
  readonly codeSha256: string;
  readonly payload: Json;
  readonly requestedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly status: ApprovalStatus;
  readonly decision: Decided | null;
  readonly run: ApprovedRun | null;
}

/** The answer to whoever wants to run approved code. Exactly one is `claimed`, ever; it runs exactly `code`. */
export type Claim =
  | { readonly status: 'claimed'; readonly code: string; readonly codeSha256: string; readonly approval: Approval }
  | { readonly status: ApprovedRun['status']; readonly run: ApprovedRun; readonly approval: Approval };

/** Identifies code: an approval is for exactly the code with this hash. */
export function sha256Of(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}

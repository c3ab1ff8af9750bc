import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';
import { Name, text } from '../database/values.ts';

const MAX_CODE_LENGTH = 1 << 20;

/** The longest wait for a decision: ten years, which a date can represent. */
const MAX_WAIT_MS = 10 * 365 * 86_400_000;

export const STATUSES = ['pending', 'approved', 'edited', 'rejected', 'responded', 'expired'] as const;
export type ApprovalStatus = (typeof STATUSES)[number];

const Code = text(MAX_CODE_LENGTH);

/** A request for an approval. `threadId` to `attempt`, together with the code, identify it. */
export const ApprovalRequest = z.strictObject({
  threadId: Name,
  checkpointNs: text(2048).default(''),
  /** Distinguishes requests of one thread that lead to the same code. Keep it in the state, so that it survives a crash. */
  requestId: Name,
  attempt: z.int().nonnegative(),
  code: Code,
  /** What the reviewer sees: request, analysis, effects. */
  payload: z.custom<Json>((value) => value !== undefined, 'must be JSON').default(null),
  requestedBy: Name,
  /** Null: it never expires. */
  expiresInMs: z.int().nonnegative().max(MAX_WAIT_MS).nullable().default(null),
});
export type ApprovalRequest = z.input<typeof ApprovalRequest>;

/** What a reviewer decides. */
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

/** A stored decision: who made it and when. `codeSha256` identifies the code that may now run, if any. */
export type Decided = Decision & { readonly by: string; readonly at: Date; readonly codeSha256?: string };

interface Claimed {
  readonly owner: string;
  readonly claimedAt: Date;
}

/**
 * The one run of approved code. It is `unknown` if its owner neither finished nor renewed its lease in time: the code may
 * have run, in part or in full. Nobody else may run it then, but an owner that was merely slow may still finish.
 */
export type ApprovedRun = Claimed &
  (
    | { readonly status: 'running' | 'unknown'; readonly leaseUntil: Date }
    | { readonly status: 'finished'; readonly finishedAt: Date; readonly outcome: Json }
  );

/** Code that waits, or waited, for a reviewer's decision. */
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

/** The answer to a claim on approved code. Only one claim ever gets `claimed`, and it runs exactly `code`. */
export type Claim =
  | { readonly status: 'claimed'; readonly code: string; readonly codeSha256: string; readonly approval: Approval }
  | { readonly status: ApprovedRun['status']; readonly run: ApprovedRun; readonly approval: Approval };

/** Identifies code: an approval is for exactly the code with this hash. */
export function sha256Of(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}

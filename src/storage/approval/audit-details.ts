/** What the audit log is told of a change besides who made it. */
import { z } from 'zod';
import type { Json } from '../values.ts';
import type { Decision } from './approval.ts';

export type Details = Readonly<Record<string, Json>> | null;

const Asked = z.object({ resume_payload: z.object({ execution_mode: z.string().max(100) }) });

/** Says in which mode the code is to run, where its payload does. */
export function withMode(details: Details, payload: Json): Details {
  const asked = Asked.safeParse(payload).data;
  return asked === undefined ? details : { mode: asked.resume_payload.execution_mode, ...details };
}

export function decisionDetails(decision: Decision, editedSha256: string | null): Details {
  switch (decision.type) {
    case 'approve':
      return null;
    case 'edit':
      return { editedSha256, reason: decision.reason ?? null };
    case 'reject':
      return { reason: decision.reason ?? null };
    case 'respond':
      return { text: decision.text };
  }
}

import { z } from 'zod';
import { sha256Of, type Approval, type Decision } from '../../storage/approvals/approval.ts';
import { ServiceConfigurationError } from '../api/failures.ts';
import { readPayload } from './payload.ts';

const YES = ['yes', 'y', 'yep', 'yeah', 'ok', 'okay', 'approve', 'approved'];
const NO = ['no', 'n', 'nope', 'nah', 'cancel', 'reject', 'rejected'];

/** What `Command({ resume })` may contain. It may include the payload of the interrupt, which is checked, not trusted. */
const Answer = z.union([
  z.looseObject({ type: z.literal('approve'), code: z.string().optional(), reason: z.string().optional() }),
  z.looseObject({ type: z.literal('edit'), code: z.string().min(1), reason: z.string().optional() }),
  z.looseObject({ type: z.literal('reject'), code: z.string().optional(), reason: z.string().optional() }),
  z.looseObject({
    type: z.literal('respond'),
    text: z.string().min(1),
    code: z.string().optional(),
    reason: z.string().optional(),
  }),
  z.looseObject({ approved: z.boolean(), code: z.string().optional(), reason: z.string().optional() }),
]);

export interface ReviewerAnswer {
  readonly decision: Decision;
  /** The reviewer, if the answer names one. */
  readonly by: string | undefined;
}

/** Reads a decision. An unclear answer is an error, never an approval. */
export function readAnswer(resume: unknown, asked: Pick<Approval, 'id' | 'codeSha256' | 'payload'>): ReviewerAnswer {
  if (typeof resume === 'string' || typeof resume === 'boolean') return { decision: readWord(resume), by: undefined };
  const parsed = Answer.safeParse(resume);
  if (!parsed.success) throw unclear(JSON.stringify(resume)?.slice(0, 200));
  const answer = parsed.data;
  if ((answer['approval_id'] ?? asked.id) !== asked.id) throw ofAnother(asked.id);
  const by = typeof answer['by'] === 'string' ? answer['by'] : undefined;
  const decision = decisionOf(answer, asked.codeSha256);
  if (decision.type === 'approve') assertSameRun(answer, asked);
  return { decision, by };
}

function decisionOf(answer: z.infer<typeof Answer>, codeSha256: string): Decision {
  if ('approved' in answer) {
    if (answer['approved'] !== true) return { type: 'reject', ...reasonOf(answer) };
    assertSameCode(answer, codeSha256);
    return { type: 'approve' };
  }
  switch (answer.type) {
    case 'approve':
      assertSameCode(answer, codeSha256);
      return { type: 'approve' };
    case 'edit':
      return { type: 'edit', code: answer.code, ...reasonOf(answer) };
    case 'reject':
      return { type: 'reject', ...reasonOf(answer) };
    case 'respond':
      return { type: 'respond', text: answer.text };
  }
}

/** An approval is for exactly one code. An answer that contains different code does not approve it. */
function assertSameCode({ code }: { readonly code?: unknown }, codeSha256: string): void {
  if (code === undefined || (typeof code === 'string' && sha256Of(code) === codeSha256)) return;
  throw new ServiceConfigurationError(
    'The answer approves different code than the code that was shown. To change the code, answer { type: "edit", code }.',
  );
}

/** An answer that names the run of a preview approves that one. */
function assertSameRun(answer: Readonly<Record<string, unknown>>, asked: Pick<Approval, 'payload'>): void {
  const { preview_sha256: shown } = readPayload(asked.payload);
  if ((answer['preview_sha256'] ?? shown) === shown) return;
  throw new ServiceConfigurationError(
    'The answer approves another run than the one that was shown. Nothing was decided. Look at the pending approval and answer that one.',
  );
}

function ofAnother(id: string): ServiceConfigurationError {
  return new ServiceConfigurationError(
    `The answer is for another approval, not for ${id}, which is pending. Nothing was decided. Look at the pending approval and answer that one.`,
  );
}

function readWord(word: string | boolean): Decision {
  if (typeof word === 'boolean') return word ? { type: 'approve' } : { type: 'reject' };
  const plain = word
    .trim()
    .toLowerCase()
    .replace(/[.!]+$/, '');
  if (YES.includes(plain)) return { type: 'approve' };
  if (NO.includes(plain)) return { type: 'reject' };
  throw unclear(JSON.stringify(word.slice(0, 200)));
}

function unclear(shown: string | undefined): ServiceConfigurationError {
  return new ServiceConfigurationError(
    `The answer ${shown ?? 'undefined'} approves nothing. Answer { approved: true }, { approved: false }, or { type: "approve" | "edit" | "reject" | "respond", … }.`,
  );
}

function reasonOf({ reason }: { readonly reason?: unknown }): { readonly reason?: string } {
  return typeof reason === 'string' ? { reason } : {};
}

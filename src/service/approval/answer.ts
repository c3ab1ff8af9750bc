import { z } from 'zod';
import { sha256Of, type Approval, type Decision } from '../../storage/approvals/approval.ts';
import { ServiceConfigurationError } from '../api/failures.ts';

const YES = ['yes', 'y', 'yep', 'yeah', 'ok', 'okay', 'approve', 'approved'];
const NO = ['no', 'n', 'nope', 'nah', 'cancel', 'reject', 'rejected'];

/** What may come back through `Command({ resume })`. Payloads of the interrupt come along and are checked, not trusted. */
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

export interface Answered {
  readonly decision: Decision;
  /** Who decides, if the answer says so. */
  readonly by: string | undefined;
}

/** Reads a decision. What is unclear approves nothing. */
export function readAnswer(resume: unknown, asked: Pick<Approval, 'id' | 'codeSha256'>): Answered {
  if (typeof resume === 'string' || typeof resume === 'boolean') return { decision: readWord(resume), by: undefined };
  const parsed = Answer.safeParse(resume);
  if (!parsed.success) throw unclear(JSON.stringify(resume)?.slice(0, 200));
  const answer = parsed.data;
  if ((answer['approval_id'] ?? asked.id) !== asked.id) throw ofAnother(asked.id);
  const by = typeof answer['by'] === 'string' ? answer['by'] : undefined;
  return { decision: decisionOf(answer, asked.codeSha256), by };
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

/** An approval is of one code. A payload that brings other code is no approval of it. */
function assertSameCode({ code }: { readonly code?: unknown }, codeSha256: string): void {
  if (code === undefined || (typeof code === 'string' && sha256Of(code) === codeSha256)) return;
  throw new ServiceConfigurationError(
    'The answer approves other code than the one that was shown. To change the code, answer { type: "edit", code }.',
  );
}

function ofAnother(id: string): ServiceConfigurationError {
  return new ServiceConfigurationError(
    `The answer names another approval than ${id}, which is asked for, so nothing was decided. Look at what is asked now and answer that.`,
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

import { VivariumError } from '../../errors.ts';
import { readPayload } from '../../service/approval/payload.ts';
import type { Approval, ApprovalStatus, Decision } from '../../storage/approvals/approval.ts';
import { undecidable } from '../../storage/approvals/errors.ts';
import { visibleJson } from '../../text/visible.ts';
import type { Context } from '../terminal/context.ts';
import { readGiven } from '../session/user-files.ts';
import { editCode } from '../review/editor.ts';
import { inLine } from '../../text/in-line.ts';
import { canAsk } from '../review/decision-prompt.ts';
import { printReview } from '../review/approval-text.ts';
import { approvalJson } from '../review/approval-json.ts';
import { follow } from '../service/follow.ts';
import { configure, openRecordsOf, openService, systemUser, type ServiceFlags } from '../service/open.ts';
import { alignColumns } from '../terminal/table.ts';

const MAX_LISTED = 1000;

export interface ListFlags extends ServiceFlags {
  readonly status: ApprovalStatus | 'all';
  readonly json?: boolean;
}

export interface DecideFlags extends ServiceFlags {
  readonly by?: string;
  readonly reason?: string;
  readonly code?: string;
  readonly json?: boolean;
}

/** Prints the approvals, oldest first. */
export async function list({ status, json, ...flags }: ListFlags, context: Context): Promise<number> {
  const { stdout, stderr } = context;
  await using storage = await openRecordsOf(await configure(flags, context));
  const found = await storage.approvals.list({ limit: MAX_LISTED, ...(status !== 'all' && { status }) });
  if (json === true) {
    await stdout.line(visibleJson(found.map(approvalJson), 2));
    return 0;
  }
  if (found.length === 0) await stderr.line(status === 'all' ? 'there are no approvals' : `no approval is ${status}`);
  else await stdout.line(alignColumns(found.map((approval) => rowOf(approval, stdout.columns))));
  if (found.length === MAX_LISTED)
    await stderr.line(`only the first ${MAX_LISTED} are shown; narrow the list with --status`);
  return 0;
}

/** Prints one approval with everything that matters for the decision. */
export async function show(
  id: string,
  { json, ...flags }: Omit<ListFlags, 'status'>,
  context: Context,
): Promise<number> {
  await using storage = await openRecordsOf(await configure(flags, context));
  const approval = await storage.approvals.get(id);
  if (json === true) await context.stdout.line(visibleJson(approvalJson(approval), 2));
  else await printReview(approval, context.stdout);
  return 0;
}

/** Decides, and continues the request in this process. */
export async function decide(
  id: string,
  decisionOf: (approval: Approval) => Promise<Decision>,
  flags: DecideFlags,
  context: Context,
): Promise<number> {
  const setup = await configure(flags, context);
  const by = flags.by ?? systemUser();
  await using service = await openService(setup, flags, context);
  const approval = await service.approvals.get(id);
  const decision = await decisionOf(approval);
  const events = service.streamDecision(id, decision, { by, signal: context.lifetime.signal });
  return await follow(events, { service, by, json: flags.json ?? false, sameAgain: setup.sameAgain }, context);
}

/** A decision to run edited code: from `--code`, or from the editor of the person at the terminal. */
export async function editedCode(approval: Approval, flags: DecideFlags, context: Context): Promise<Decision> {
  const reason = flags.reason === undefined ? {} : { reason: flags.reason };
  if (flags.code !== undefined)
    return { type: 'edit', code: await readGiven('--code', flags.code, context), ...reason };
  if (approval.status !== 'pending') throw undecidable(approval);
  if (!canAsk(context))
    throw new VivariumError('USAGE', 'There is no terminal for an editor. Give the code with --code FILE.');
  const code = await editCode(approval.code, context);
  if (code !== null) return { type: 'edit', code, ...reason };
  throw new VivariumError(
    'USAGE',
    'The code was not changed, so nothing was decided. To run it as it is, use `vivarium approvals approve`.',
  );
}

export interface AuditFlags extends ServiceFlags {
  readonly approval?: string;
  readonly json?: boolean;
}

/** Prints the audit log, oldest entry first. */
export async function audit({ approval, json, ...flags }: AuditFlags, context: Context): Promise<number> {
  const { stdout, lifetime } = context;
  await using storage = await openRecordsOf(await configure(flags, context));
  const filter = approval === undefined ? {} : { approvalId: approval };
  for (let afterId = 0; !lifetime.signal.aborted;) {
    const page = await storage.audit.list({ ...filter, afterId, limit: MAX_LISTED });
    for (const entry of page) {
      const { id, at, actor, action, approvalId, threadId, codeSha256, details } = entry;
      const wire = {
        id,
        at,
        actor,
        action,
        approval_id: approvalId,
        thread_id: threadId,
        code_sha256: codeSha256,
        details,
      };
      const cells = [at.toISOString(), action.padEnd(9), approvalId ?? '-', codeSha256?.slice(0, 12) ?? '-'];
      const words = [inLine(actor, 60), details === null ? '' : inLine(visibleJson(details), 300)];
      await stdout.line(json === true ? visibleJson(wire) : [...cells, ...words].join('  ').trimEnd());
    }
    if (page.length < MAX_LISTED) break;
    afterId = page.at(-1)?.id ?? Infinity;
  }
  return 0;
}

const SHORT_TIME = 'YYYY-MM-DDTHH:MM'.length;

function rowOf(approval: Approval, columns: number | undefined): string[] {
  const { id, status, createdAt, requestedBy } = approval;
  const asker = inLine(requestedBy, 20);
  const taken = id.length + status.length + SHORT_TIME + asker.length + 10;
  const objective = inLine(readPayload(approval.payload).step_objective, Math.max(20, (columns ?? 200) - taken));
  return [id, status, createdAt.toISOString().slice(0, SHORT_TIME), asker, objective];
}

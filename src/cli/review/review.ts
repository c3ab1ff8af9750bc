/** An approval as a person sees it: whatever the code, the model or the session had a say in stands in a frame. */
import { readPayload, type PayloadView } from '../../service/approval/payload.ts';
import type { Approval } from '../../storage/approvals/approval.ts';
import { makeVisible } from '../../text/visible.ts';
import type { Output } from '../output.ts';
import { alignColumns } from '../table.ts';
import { Frame, inLine } from './frame.ts';

const MAX_FACT_CHARS = 400;
const LABEL_CHARS = 14;

/** Prints all that there is to decide on, or all that was decided. */
export async function printReview(approval: Approval, output: Output): Promise<void> {
  const { columns } = output;
  const shown = readPayload(approval.payload);
  const section = async (title: string, text: string): Promise<void> => {
    if (text.trim() !== '') await output.write(`${output.style('bold', title)}\n${Frame.around(text, columns)}`);
  };
  const width = columns === undefined ? MAX_FACT_CHARS : Math.max(20, columns - LABEL_CHARS);
  const cut = factsOf(approval, shown).map(([name, text]) => [name, inLine(text, width)]);
  const facts = [...cut, ...placesOf(shown)];
  await output.line(output.style('bold', `Approval ${approval.id}`));
  await output.line(alignColumns(facts, '  '));
  await section('Task', shown.step_objective);
  await section('Concerns', shown.safety_concerns.map((concern) => `- ${concern}`).join('\n'));
  await section(`Code, sha256 ${approval.codeSha256}`, approval.code);
  if (shown.effects !== null) {
    await section('What it did when it was tried behind walls', describeEffects(shown.effects));
    await output.line(
      shown.effects.isComplete
        ? 'Nothing of this has left the sandbox. To approve it is to keep exactly this run.'
        : 'It needs more than it was given there. To approve it is to run it again, with access.',
    );
  }
  const { decision } = approval;
  if (decision?.type === 'edit') await section(`Code as edited, sha256 ${decision.codeSha256 ?? ''}`, decision.code);
  if (decision?.type === 'respond') await section('Response', decision.text);
}

function factsOf(approval: Approval, shown: PayloadView): (readonly [string, string])[] {
  const { status, requestedBy, createdAt, expiresAt, decision, run } = approval;
  const { approval_reasoning: why, security_risk_level: risk } = shown.analysis_details;
  const files = shown.input_files.map(
    ({ name, size_bytes: size, sha256 }) => `${name} (${size} bytes, ${sha256.slice(0, 12)}…)`,
  );
  const facts = [
    ['Status', status],
    ['Why', why],
    ['Mode', shown.execution_mode],
    ['Risk', risk],
    ['Asked by', `${requestedBy}, ${createdAt.toISOString()}`],
    ['Expires', expiresAt?.toISOString() ?? 'never'],
    ['Files', files.join(', ')],
    ['Decided by', decision === null ? '' : `${decision.by}, ${decision.at.toISOString()}`],
    ['Reason', decision !== null && 'reason' in decision ? (decision.reason ?? '') : ''],
    ['Run', run === null ? '' : `${run.status}, begun ${run.claimedAt.toISOString()}`],
  ] as const;
  return facts.filter(([, text]) => text !== '');
}

/** Whole, to be copied: their names are the service's own. */
function placesOf({ notebook_path, execution_folder_path }: PayloadView): (readonly string[])[] {
  const places = [
    ['Notebook', notebook_path],
    ['Folder', execution_folder_path],
  ] as const;
  return places.filter(([, place]) => place !== '').map(([name, place]) => [name, makeVisible(place)]);
}

function describeEffects({ status, text, attempts, files }: NonNullable<PayloadView['effects']>): string {
  return [
    `- it ${status === 'succeeded' ? 'ran to its end' : `ended as ${status}`}`,
    ...attempts.map(({ kind, what, count }) => `- ${kind}: ${what}${count > 1 ? ` (${count} times)` : ''}`),
    ...files.map(({ path, sizeBytes }) => `- file: ${path} (${sizeBytes} bytes)`),
    ...(text.trim() === '' ? [] : ['- it showed:', text.trimEnd().replaceAll(/^/gm, '    ')]),
  ].join('\n');
}

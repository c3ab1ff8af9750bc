/** An approval as text for a person. Everything that code, model or session could influence is framed. */
import { readPayload, type PayloadView } from '../../service/approval/payload.ts';
import type { Approval } from '../../storage/approvals/approval.ts';
import { makeVisible } from '../../text/visible.ts';
import type { OutputStream } from '../terminal/output-stream.ts';
import { alignColumns } from '../terminal/table.ts';
import { TextFrame, inLine } from './text-frame.ts';

const MAX_FACT_CHARS = 400;
const LABEL_CHARS = 14;

/** Prints the approval with everything that matters for the decision. */
export async function printReview(approval: Approval, output: OutputStream): Promise<void> {
  const { columns } = output;
  const shown = readPayload(approval.payload);
  const section = async (title: string, text: string): Promise<void> => {
    if (text.trim() !== '') await output.write(`${output.style('bold', title)}\n${TextFrame.around(text, columns)}`);
  };
  const width = columns === undefined ? MAX_FACT_CHARS : Math.max(20, columns - LABEL_CHARS);
  const cut = factsOf(approval, shown).map(([name, text]) => [name, inLine(text, width)]);
  const facts = [...cut, ...pathsOf(shown)];
  await output.line(output.style('bold', `Approval ${approval.id}`));
  await output.line(alignColumns(facts, '  '));
  await section('Task', shown.step_objective);
  await section('Concerns', shown.safety_concerns.map((concern) => `- ${concern}`).join('\n'));
  await section(`Code, sha256 ${approval.codeSha256}`, approval.code);
  if (shown.effects !== null) {
    await section('What it did in a trial run', describeEffects(shown.effects));
    await output.line(
      shown.effects.isComplete
        ? 'Nothing has left the sandbox. If you approve, exactly this run is kept.'
        : 'It needs access that the trial run did not have. If you approve, it runs again with that access.',
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

/** Not shortened, so that they can be copied. The service chose these names. */
function pathsOf({ notebook_path, execution_folder_path }: PayloadView): (readonly string[])[] {
  const paths = [
    ['Notebook', notebook_path],
    ['Folder', execution_folder_path],
  ] as const;
  return paths.filter(([, file]) => file !== '').map(([name, file]) => [name, makeVisible(file)]);
}

function describeEffects({ status, text, attempts, files }: NonNullable<PayloadView['effects']>): string {
  return [
    `- ${status === 'succeeded' ? 'it ran to its end' : `it ended as ${status}`}`,
    ...attempts.map(({ kind, what, count }) => `- ${kind}: ${what}${count > 1 ? ` (${count} times)` : ''}`),
    ...files.map(({ path, sizeBytes }) => `- file: ${path} (${sizeBytes} bytes)`),
    ...(text.trim() === '' ? [] : ['- output:', text.trimEnd().replaceAll(/^/gm, '    ')]),
  ].join('\n');
}

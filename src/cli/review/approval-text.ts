/** An approval as text for a person. Everything that code, model or session could influence is framed. */
import { describeEffects } from '../../service/approval/effects.ts';
import { readPayload, type PayloadView } from '../../service/approval/payload.ts';
import type { Approval } from '../../storage/approvals/approval.ts';
import { inLine } from '../../text/in-line.ts';
import type { OutputStream } from '../terminal/output-stream.ts';
import { alignColumns } from '../terminal/table.ts';
import { TextFrame } from './text-frame.ts';

const MAX_FACT_CHARS = 400;
const LABEL_CHARS = 14;
const MAX_LISTED_CHARS = 1000;
/** As long as paths get. */
const MAX_PATH_CHARS = 4096;

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
  await section('Access', shown.access);
  await section('Task', shown.step_objective);
  await section('Concerns', listed(shown.safety_concerns));
  await section(`Code, sha256 ${approval.codeSha256}`, approval.code);
  if (shown.effects !== null) {
    const { seen, told } = describeEffects(shown.effects);
    const printed = shown.effects.text.trimEnd();
    await section('What the host saw of a trial run', listed(seen));
    await section(
      'What its session says, which code can forge',
      [listed(told), ...(printed === '' ? [] : ['- output:', printed.replaceAll(/^/gm, '    ')])].join('\n'),
    );
    await output.line(
      shown.effects.isComplete
        ? `Nothing has left the sandbox. If you approve, exactly this run is kept${hashText(shown.preview_sha256)}.`
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

/** Not shortened, so that they can be copied. */
function pathsOf({ notebook_path, execution_folder_path }: PayloadView): (readonly string[])[] {
  const paths = [
    ['Notebook', notebook_path],
    ['Folder', execution_folder_path],
  ] as const;
  return paths.filter(([, file]) => file !== '').map(([name, file]) => [name, inLine(file, MAX_PATH_CHARS)]);
}

/** One line each, so that none of them can begin another. */
function listed(texts: readonly string[]): string {
  return texts.map((text) => `- ${inLine(text, MAX_LISTED_CHARS)}`).join('\n');
}

function hashText(sha256: string | null): string {
  return sha256 === null ? '' : ` (sha256 ${inLine(sha256, 64)})`;
}

import type { Json } from '../../execution/execution.ts';
import { fenced, inlineText } from '../../notebook/text.ts';
import { inLine } from '../../text/in-line.ts';
import { makeVisible } from '../../text/visible.ts';
import { requestOnTheWire, type PythonExecutionRequest } from '../api/request.ts';
import type { Verdict } from '../policy/analysis-result.ts';
import type { InputFile } from '../records/inputs.ts';
import { describeEffects, type Effects } from './effects.ts';
import { z } from 'zod';

/** What the service calls its approvals. */
export const SERVICE_APPROVAL_TYPE = 'python_executor';

/** What a reviewer decides on. */
export interface Review {
  readonly request: PythonExecutionRequest;
  readonly code: string;
  readonly codeSha256: string;
  readonly verdict: Verdict;
  /** Files in the working directory of the code. */
  readonly inputs: readonly InputFile[];
  /** What the code did in its preview, or null if there was none. */
  readonly effects: Effects | null;
  /** The hash of the preview's run, if approving commits it. */
  readonly previewSha256: string | null;
  /** What confines the code, and what it can reach. */
  readonly access: string;
  readonly folder: string;
  readonly notebookPath: string;
  readonly notebookLink: string;
}

/** The value of the interrupt: a message for a person, and the data that a program needs to show it and to resume. */
export interface ApprovalPayload {
  readonly user_message: string;
  readonly resume_payload: Readonly<Record<string, Json>>;
}

export function approvalPayload(review: Review): ApprovalPayload {
  const { request, code, codeSha256, verdict, effects } = review;
  return {
    user_message: userMessage(review),
    resume_payload: {
      approval_type: SERVICE_APPROVAL_TYPE,
      step_objective: request.taskObjective,
      code,
      code_sha256: codeSha256,
      analysis_details: verdict.details as Json,
      execution_mode: verdict.mode,
      access: review.access,
      safety_concerns: verdict.warnings,
      effects: effects as unknown as Json,
      preview_sha256: review.previewSha256,
      input_files: review.inputs.map(({ name, sizeBytes, sha256 }) => ({ name, size_bytes: sizeBytes, sha256 })),
      notebook_path: review.notebookPath,
      notebook_link: review.notebookLink,
      execution_request: withoutLargeContext(requestOnTheWire(request)),
      expected_results: request.expectedResults,
      execution_folder_path: review.folder,
    },
  };
}

/** More than a person would read. */
const MAX_CONTEXT_CHARS = 50_000;

/** Data from other steps can be large, and it is in the record folder anyway. */
function withoutLargeContext(request: Readonly<Record<string, Json>>): Readonly<Record<string, Json>> {
  const { length } = JSON.stringify(request['capability_context_data'] ?? null);
  if (length <= MAX_CONTEXT_CHARS) return request;
  return { ...request, capability_context_data: `${length} characters; see context.json in the execution folder` };
}

/** Longer than what people write, and short enough to leave the rest in sight. */
const MAX_TASK_CHARS = 2000;
const MAX_LINE_CHARS = 1000;

/** Text of code, model or session is one line each, or stands in a fence. No line of the question can be forged. */
function userMessage({ request, code, codeSha256, verdict, effects, ...shown }: Review): string {
  const { warnings } = verdict;
  return [
    '⚠️ **HUMAN APPROVAL REQUIRED** ⚠️',
    '',
    `**Task:** ${line(request.taskObjective, MAX_TASK_CHARS)}`,
    `**Why:** ${line(verdict.reasoning)}`,
    `**Mode:** ${verdict.mode}`,
    `**Access:** ${line(shown.access)}`,
    ...(warnings.length > 0 ? ['', '**Concerns:**', ...warnings.map((warning) => `- ${line(warning)}`)] : []),
    '',
    `**Code** (sha256 ${codeSha256.slice(0, 12)}…):`,
    fenced(makeVisible(code.trimEnd()), 'python'),
    ...(effects === null ? [] : previewText(effects, shown.previewSha256)),
    '',
    `**Notebook:** ${shown.notebookLink}`,
    '',
    `Respond with **yes** to run exactly this code, or **no** to cancel.`,
  ].join('\n');
}

function previewText(effects: Effects, sha256: string | null): string[] {
  const { seen, told } = describeEffects(effects);
  return [
    '',
    '**What the host saw of a preview in the sandbox:**',
    ...seen.map((one) => `- ${line(one)}`),
    '',
    '**What the session says about it** (code can forge this):',
    ...told.map((one) => `- ${line(one)}`),
    ...(effects.text.trim() === '' ? [] : ['- it printed:', fenced(makeVisible(effects.text.trimEnd()))]),
    '',
    sha256 === null
      ? 'It needs more access than the preview had; approving runs it again with that access.'
      : `Nothing left the sandbox; approving commits exactly this run (sha256 ${sha256.slice(0, 12)}…).`,
  ];
}

function line(text: string, maxChars = MAX_LINE_CHARS): string {
  return inlineText(inLine(text, maxChars));
}

const Text = z.string().catch('');
const Texts = z.array(z.string()).catch([]);
const Count = z.number().catch(0);

/** The parts of a stored payload that a reviewer needs. Malformed parts count as absent. */
const PayloadView = z.object({
  step_objective: Text,
  execution_mode: Text,
  access: Text,
  safety_concerns: Texts,
  analysis_details: z
    .object({ approval_reasoning: Text, security_risk_level: Text })
    .catch({ approval_reasoning: '', security_risk_level: '' }),
  input_files: z.array(z.object({ name: Text, size_bytes: Count, sha256: Text })).catch([]),
  effects: z
    .object({
      status: Text,
      text: Text,
      attempts: z.array(z.object({ kind: Text, what: Text, count: Count })).catch([]),
      files: z.array(z.object({ path: Text, sizeBytes: Count })).catch([]),
      moreFiles: Count,
      isComplete: z.boolean().catch(false),
    })
    .nullable()
    .catch(null),
  preview_sha256: z.string().nullable().catch(null),
  notebook_path: Text,
  execution_folder_path: Text,
});
export type PayloadView = Readonly<z.infer<typeof PayloadView>>;

/** Reads the payload of an approval. It may be from an older version, or from another graph with the same storage. */
export function readPayload(payload: Json): PayloadView {
  const resume = z.object({ resume_payload: z.unknown() }).safeParse(payload).data?.resume_payload;
  return PayloadView.parse(z.record(z.string(), z.unknown()).safeParse(resume).data ?? {});
}

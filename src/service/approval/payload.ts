import type { Json } from '../../execution/execution.ts';
import { fenced } from '../../notebook/text.ts';
import { requestOnTheWire, type PythonExecutionRequest } from '../api/request.ts';
import type { Verdict } from '../policy/analysis-result.ts';
import type { InputFile } from '../records/inputs.ts';
import type { Effects } from './effects.ts';
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
      safety_concerns: verdict.warnings,
      effects: effects as unknown as Json,
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

function userMessage({ request, code, codeSha256, verdict, effects, notebookLink }: Review): string {
  return [
    '⚠️ **HUMAN APPROVAL REQUIRED** ⚠️',
    '',
    `**Task:** ${request.taskObjective}`,
    `**Why:** ${verdict.reasoning}`,
    `**Mode:** ${verdict.mode}`,
    ...(verdict.warnings.length > 0 ? ['', '**Concerns:**', ...verdict.warnings.map((warning) => `- ${warning}`)] : []),
    '',
    `**Code** (sha256 ${codeSha256.slice(0, 12)}…):`,
    fenced(code.trimEnd(), 'python'),
    ...(effects === null ? [] : ['', '**What it did in a preview in the sandbox:**', ...describeEffects(effects)]),
    '',
    `**Notebook:** ${notebookLink}`,
    '',
    `Respond with **yes** to run exactly this code, or **no** to cancel.`,
  ].join('\n');
}

function describeEffects({ status, text, attempts, files, isComplete }: Effects): string[] {
  const seen = attempts.map(({ kind, what, count }) => `- ${kind}: ${what}${count > 1 ? ` (${count} times)` : ''}`);
  return [
    `- it ${status === 'succeeded' ? 'ran to its end' : `ended as ${status}`}`,
    ...seen,
    ...files.map(({ path, sizeBytes }) => `- file: ${path} (${sizeBytes} bytes)`),
    ...(text === '' ? [] : [fenced(text.trimEnd())]),
    isComplete
      ? '- it had no effect outside the sandbox; approving commits exactly this run'
      : '- it needs more access than the preview had; approving runs it again with that access',
  ];
}

const Text = z.string().catch('');
const Texts = z.array(z.string()).catch([]);
const Count = z.number().catch(0);

/** The parts of a stored payload that a reviewer needs. Malformed parts count as absent. */
const PayloadView = z.object({
  step_objective: Text,
  execution_mode: Text,
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
      isComplete: z.boolean().catch(false),
    })
    .nullable()
    .catch(null),
  notebook_path: Text,
  execution_folder_path: Text,
});
export type PayloadView = Readonly<z.infer<typeof PayloadView>>;

/** Reads the payload of an approval. It may be from an older version, or from another graph with the same storage. */
export function readPayload(payload: Json): PayloadView {
  const resume = z.object({ resume_payload: z.unknown() }).safeParse(payload).data?.resume_payload;
  return PayloadView.parse(z.record(z.string(), z.unknown()).safeParse(resume).data ?? {});
}

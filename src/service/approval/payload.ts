import type { Json } from '../../execution/execution.ts';
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
  /** Files that the code finds beside it. */
  readonly inputs: readonly InputFile[];
  /** What the code did when it was run as a preview; null when there was none. */
  readonly effects: Effects | null;
  readonly folder: string;
  readonly notebookPath: string;
  readonly notebookLink: string;
}

/** The value of the interrupt: words for a person, and everything that a program needs to show and to resume. */
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

/** As much as a person could look at. */
const MAX_CONTEXT_CHARS = 50_000;

/** Data of other steps may be of any size, and lies in the folder anyhow. */
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
    fenced(code, 'python'),
    ...(effects === null ? [] : ['', '**What it did when it was tried behind walls:**', ...describeEffects(effects)]),
    '',
    `**Notebook:** ${notebookLink}`,
    '',
    `Respond with **yes** to run exactly this code, or **no** to cancel.`,
  ].join('\n');
}

/** A fence longer than any in the code: what is to be judged cannot end its own frame. */
function fenced(code: string, language = ''): string {
  const longest = Math.max(2, ...Array.from(code.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${code.trimEnd()}\n${fence}`;
}

function describeEffects({ status, text, attempts, files, isComplete }: Effects): string[] {
  const seen = attempts.map(({ kind, what, count }) => `- ${kind}: ${what}${count > 1 ? ` (${count} times)` : ''}`);
  return [
    `- it ${status === 'succeeded' ? 'ran to its end' : `ended as ${status}`}`,
    ...seen,
    ...files.map(({ path, sizeBytes }) => `- file: ${path} (${sizeBytes} bytes)`),
    ...(text === '' ? [] : [fenced(text)]),
    isComplete
      ? '- nothing of this has left the sandbox; approving commits exactly this run'
      : '- it needs more than the preview allowed; approving runs it again, with access',
  ];
}

const Text = z.string().catch('');
const Texts = z.array(z.string()).catch([]);
const Count = z.number().catch(0);

/** What a reviewer needs of a stored payload. Parts that are not as they should be are shown as absent. */
const Shown = z.object({
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
export type Shown = Readonly<z.infer<typeof Shown>>;

/** Reads the payload of an approval, which may be old, or of another graph that keeps its approvals in the same place. */
export function readShown(payload: Json): Shown {
  const resume = z.object({ resume_payload: z.unknown() }).safeParse(payload).data?.resume_payload;
  return Shown.parse(z.record(z.string(), z.unknown()).safeParse(resume).data ?? {});
}

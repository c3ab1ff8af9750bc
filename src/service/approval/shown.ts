import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';

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

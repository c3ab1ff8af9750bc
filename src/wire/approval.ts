/** Code that waits for a person: what the reviewer sees, and what the reviewer decides. */
import { z } from 'zod';
import { Decision, STATUSES } from '../storage/approvals/approval.ts';
import { describeFields } from './describe.ts';
import { CountSchema, JsonSchema, Sha256Schema, TimestampSchema } from './values.ts';

const [Approve, Edit, Reject, Respond] = Decision.options;

const type = 'What the reviewer decided.';
const reason = 'Why, in the words of the reviewer.';
const said = {
  approve: describeFields(Approve.shape, { type }),
  edit: describeFields(Edit.shape, { type, code: 'The code to run instead.', reason }),
  reject: describeFields(Reject.shape, { type, reason }),
  respond: describeFields(Respond.shape, { type, text: 'What the reviewer wants instead.' }),
};

/** What a reviewer sends. Unknown keys are errors, so that `approve` cannot carry other code. */
export const DecisionSchema = z
  .discriminatedUnion('type', [
    z.strictObject(said.approve).meta({ id: 'ApproveDecision', description: 'Run exactly the code that was shown.' }),
    z.strictObject(said.edit).meta({ id: 'EditDecision', description: 'Run other code instead.' }),
    z.strictObject(said.reject).meta({ id: 'RejectDecision', description: 'Do not run the code.' }),
    z.strictObject(said.respond).meta({
      id: 'RespondDecision',
      description: 'Do not run the code. Write other code with this answer in mind, and ask again.',
    }),
  ])
  .meta({ id: 'Decision', description: 'What a reviewer decides.', examples: [{ type: 'approve' }] });

const made = {
  by: z.string().describe('Who decided.'),
  at: TimestampSchema.describe('When it was decided, in ISO 8601.'),
  codeSha256: Sha256Schema.exactOptional().describe('The SHA-256 of the code that may run now, if any may.'),
};

const DecidedSchema = z
  .discriminatedUnion('type', [
    z.object({ ...said.approve, ...made }).meta({ id: 'Approved', description: 'The code may run as it was shown.' }),
    z.object({ ...said.edit, ...made }).meta({ id: 'Edited', description: 'Other code may run instead.' }),
    z.object({ ...said.reject, ...made }).meta({ id: 'Rejected', description: 'The code may not run.' }),
    z.object({ ...said.respond, ...made }).meta({ id: 'Responded', description: 'The reviewer asked for other code.' }),
  ])
  .meta({ id: 'Decided', description: 'A decision, who made it and when.' });

const claimed = {
  owner: z.string().describe('The process that runs it.'),
  claimedAt: TimestampSchema.describe('When it was started, in ISO 8601.'),
};

const ApprovedRunSchema = z
  .discriminatedUnion('status', [
    z
      .object({
        ...claimed,
        status: z
          .enum(['running', 'unknown'])
          .describe('`unknown`: its process was lost, and the code may have run in part or in full.'),
        leaseUntil: TimestampSchema.describe('Until when its process has the right to run it, in ISO 8601.'),
      })
      .meta({ id: 'UnfinishedRun', description: 'A run of approved code that has not reported its end.' }),
    z
      .object({
        ...claimed,
        status: z.literal('finished').describe('The run has ended.'),
        finishedAt: TimestampSchema.describe('When it ended, in ISO 8601.'),
        outcome: JsonSchema.describe('How it ended, as its process reported.'),
      })
      .meta({ id: 'FinishedRun', description: 'A run of approved code that has ended.' }),
  ])
  .meta({ id: 'ApprovedRun', description: 'The one run of approved code.' });

export const ApprovalSchema = z
  .object({
    id: z.string().describe('The id of the approval.'),
    threadId: z.string().describe('The thread whose request waits for it.'),
    checkpointNs: z.string().describe('The checkpoint namespace of that thread.'),
    requestId: z.string().describe('The request within the thread.'),
    attempt: CountSchema.describe('Which attempt of the request the code belongs to.'),
    code: z.string().describe('The code to decide on.'),
    codeSha256: Sha256Schema.describe('The SHA-256 of that code, in hexadecimal digits.'),
    payload: JsonSchema.describe('What the reviewer is shown; the execution service stores an `ApprovalPayload`.'),
    requestedBy: z.string().describe('Who asked for it.'),
    createdAt: TimestampSchema.describe('When it was asked for, in ISO 8601.'),
    expiresAt: TimestampSchema.nullable().describe('When it expires, in ISO 8601; null if it never does.'),
    status: z.enum(STATUSES).describe('What became of it so far.'),
    decision: DecidedSchema.nullable().describe('The decision, once there is one.'),
    run: ApprovedRunSchema.nullable().describe('The run of the approved code, once it has started.'),
  })
  .meta({ id: 'Approval', description: 'Code that waits, or waited, for a person to allow it.' });

const EffectsSchema = z
  .object({
    status: z.string().describe('How the preview ended. That it succeeded or raised, its session says.'),
    text: z.string().describe('What the preview printed and showed, as its session says.'),
    attempts: z
      .array(
        z.object({
          kind: z.string().describe('What kind of access it was, such as `network`.'),
          what: z.string().describe('What the code tried to reach.'),
          count: CountSchema.describe('How often it tried.'),
        }),
      )
      .describe('What the code tried to do outside its own process, as its session says.'),
    files: z
      .array(
        z.object({
          path: z.string().describe('Its path in the workspace.'),
          sizeBytes: CountSchema.describe('Its size in bytes.'),
        }),
      )
      .describe('The files that the preview wrote, as the host saw them.'),
    moreFiles: CountSchema.describe('How many more files it wrote than are listed.'),
    variables: z.array(z.string()).describe('The names of the variables that the preview added.'),
    isComplete: z.boolean().describe('Whether approving keeps the results of the preview instead of running it again.'),
  })
  .meta({ id: 'PreviewEffects', description: 'What the code did when it was tried in isolation before the review.' });

const ResumePayloadSchema = z
  .object({
    approval_type: z.string().describe('Which kind of approval this is.'),
    step_objective: z.string().describe('What the code is meant to achieve.'),
    code: z.string().describe('The code to decide on.'),
    code_sha256: Sha256Schema.describe('The SHA-256 of that code, in hexadecimal digits.'),
    analysis_details: JsonSchema.describe('What the analysis of the code found.'),
    execution_mode: z.string().describe('What the code may do: read only, write with approval, and so on.'),
    access: z.string().describe('What confines the code, and what it can reach.'),
    safety_concerns: z.array(z.string()).describe('What the reviewer should look at.'),
    effects: EffectsSchema.nullable().describe('What a preview showed; null if there was none.'),
    preview_sha256: Sha256Schema.nullable().describe(
      'The SHA-256 of the run that approving commits; null if approving runs the code.',
    ),
    input_files: z
      .array(
        z.object({
          name: z.string().describe('The name that the code has for the file.'),
          size_bytes: CountSchema.describe('Its size in bytes.'),
          sha256: Sha256Schema.describe('The SHA-256 of its content, in hexadecimal digits.'),
        }),
      )
      .describe('The files that the code finds beside it.'),
    notebook_path: z.string().describe('Where the notebook of this attempt is.'),
    notebook_link: z.string().describe('A link to that notebook.'),
    execution_request: JsonSchema.describe('The request that led to the code.'),
    expected_results: JsonSchema.describe('The names and types of the results that the request asked for.'),
    execution_folder_path: z.string().describe('The folder that keeps the record of the request.'),
  })
  .meta({ id: 'ResumePayload', description: 'Everything that a program needs to show the review and to resume.' });

export const ApprovalPayloadSchema = z
  .object({
    user_message: z.string().describe('The review as Markdown, for a person.'),
    resume_payload: ResumePayloadSchema.describe('The review as data, for a program.'),
  })
  .meta({ id: 'ApprovalPayload', description: 'What the execution service shows to a reviewer.' });

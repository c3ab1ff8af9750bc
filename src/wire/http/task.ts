/** Tasks of the execution service over HTTP, and the approvals that they wait for. */
import { z } from 'zod';
import { ApprovalSchema } from '../approval.ts';
import { JsonSchema } from '../values.ts';

export const TaskRequestSchema = z
  .strictObject({
    taskObjective: z.string().min(1).describe('What the code should achieve.'),
    userQuery: z
      .string()
      .exactOptional()
      .describe('What the user asked, in their own words; by default the objective.'),
    executionFolderName: z
      .string()
      .min(1)
      .max(100)
      .regex(/^[^/\\\0]*$/)
      .exactOptional()
      .describe('Part of the name of the folder that keeps the record.'),
    capabilityPrompts: z
      .array(z.string())
      .exactOptional()
      .describe('More guidance for the model that writes the code.'),
    expectedResults: z
      .record(z.string(), z.string())
      .exactOptional()
      .describe('Names in `results` and their types, such as `float` or `pandas.DataFrame`.'),
    capabilityContextData: z
      .record(z.string(), JsonSchema)
      .exactOptional()
      .describe('Data from other steps: `context.TYPE.key.field`.'),
    retries: z.int().nonnegative().max(20).exactOptional().describe('How many retries the task may use in total.'),
    approvedCode: z.string().exactOptional().describe('Code to run instead of generated code.'),
    background: z
      .boolean()
      .exactOptional()
      .meta({ description: 'Whether to answer at once and leave it running.', default: false }),
  })
  .meta({
    id: 'TaskRequest',
    description: 'A task: code is written for it, analyzed, approved, run and recorded.',
    examples: [{ taskObjective: 'Compute the mean of 1, 2 and 3', expectedResults: { mean: 'float' } }],
  });

const FailureSchema = z
  .object({
    type: z.string().describe('The class of the failure.'),
    category: z
      .enum(['infrastructure', 'code_related', 'workflow', 'configuration'])
      .describe('What can be done about it.'),
    message: z.string().describe('What happened.'),
  })
  .meta({ id: 'TaskFailure', description: 'Why a task has failed.' });

export const TaskViewSchema = z
  .object({
    id: z.string().describe('The id of the task.'),
    status: z
      .enum(['running', 'awaiting-approval', 'completed', 'failed', 'interrupted'])
      .describe('How far it has got. `interrupted`: the server stopped while it ran.'),
    approval: ApprovalSchema.exactOptional().describe('The approval that it waits for.'),
    result: JsonSchema.exactOptional().describe('Its result: `executionResult`, `generatedCode` and more.'),
    failure: FailureSchema.exactOptional().describe('Why it has failed.'),
  })
  .meta({ id: 'TaskView', description: 'A task of the execution service.' });

export const TaskEventSchema = z
  .discriminatedUnion('type', [
    z
      .object({
        type: z.literal('status').describe('What happened.'),
        stage: z.enum(['generation', 'analysis', 'approval', 'execution']).describe('The stage that it is in.'),
        text: z.string().describe('What is being done, in words.'),
      })
      .meta({ id: 'TaskStatusEvent', description: 'The task has got to a stage.' }),
    z
      .object({ type: z.literal('token').describe('What happened.'), text: z.string().describe('The text.') })
      .meta({ id: 'TaskTokenEvent', description: 'The model wrote text.' }),
    z
      .object({
        type: z.literal('output').describe('What happened.'),
        stream: z.enum(['stdout', 'stderr']).describe('The stream that it was printed to.'),
        text: z.string().describe('The text.'),
      })
      .meta({ id: 'TaskOutputEvent', description: 'The code printed text.' }),
    z
      .object({ type: z.literal('settled').describe('What happened.'), task: TaskViewSchema.describe('The task.') })
      .meta({ id: 'TaskSettledEvent', description: 'The task goes no further by itself. This is the last event.' }),
  ])
  .meta({ id: 'TaskEvent', description: 'Something that happened while a task was worked on.' });

export const ApprovalListSchema = z
  .object({ approvals: z.array(ApprovalSchema).describe('The approvals, oldest first.') })
  .meta({ id: 'ApprovalList', description: 'Approvals of the execution service.' });

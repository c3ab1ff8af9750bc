import { z } from 'zod';
import { parse } from '../../config.ts';
import type { Json } from '../../execution/execution.ts';

const JsonObject = z.record(z.string(), z.json());

const Whose = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed() && !text.includes('\0'), 'must be text without NUL or halves of characters');

/** A task for the service. On the wire its keys are snake_case, as the examples write them; both spellings are taken. */
const Request = z.strictObject({
  userQuery: z.string().describe('What the user asked, in their words'),
  taskObjective: z.string().min(1).describe('What this step is to achieve'),
  executionFolderName: z
    .string()
    .min(1)
    .max(1000)
    .regex(/^[^/\\\0]*$/, 'must be a name, not a path')
    .transform((name) => name.replaceAll(/[^\w.-]+/g, '_').slice(0, 100))
    .describe('Part of the name of the folder that keeps the record; what a name cannot have becomes "_"'),
  capabilityPrompts: z.array(z.string()).default([]).describe('Further guidance for the generation'),
  expectedResults: z
    .record(z.string(), z.string())
    .default({})
    .describe('Names in `results` and their types, such as `dict`, `list`, `float` or `pandas.DataFrame`'),
  capabilityContextData: JsonObject.nullable().default(null).describe('Data of other steps: `context.TYPE.key.field`'),
  retries: z.int().nonnegative().max(20).default(3).describe('How often the task may be tried again in all'),
  approvedCode: z.string().nullable().default(null).describe('Code to run instead of generating some'),
  existingExecutionFolder: z.string().nullable().default(null).describe('A folder of an earlier request to go on in'),
  sessionContext: z
    .strictObject({ chatId: Whose.optional(), userId: Whose.optional() })
    .nullable()
    .default(null)
    .describe('Whose request it is; whoever answers it gives the same in `configurable`'),
});

export type PythonExecutionRequest = Readonly<z.infer<typeof Request>>;
export type PythonExecutionRequestInput = z.input<typeof Request> | Readonly<Record<string, unknown>>;

/** Makes a request of its fields, as examples of the reference write it: `PythonExecutionRequest({ user_query: … })`. */
export function PythonExecutionRequest(fields: PythonExecutionRequestInput): PythonExecutionRequest {
  return parseRequest(fields);
}

/** Takes both spellings of the keys; what is wrong or unknown is named. */
export function parseRequest(input: PythonExecutionRequestInput): PythonExecutionRequest {
  const { session_context: context, ...rest } = input as Readonly<Record<string, unknown>>;
  const sessionContext = context === undefined || context === null ? {} : { sessionContext: camelKeys(context) };
  return Object.freeze(parse(Request, { ...camelKeys(rest), ...sessionContext }));
}

/** The request as it is stored and shown. */
export function requestOnTheWire(request: PythonExecutionRequest): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    Object.entries(request).map(([key, value]) => [snake(key), value === undefined ? null : (value as Json)]),
  );
}

function camelKeys(input: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [
      key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

function snake(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

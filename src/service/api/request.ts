import { z } from 'zod';
import { parse } from '../../config.ts';
import type { Json } from '../../execution/execution.ts';

const JsonObject = z.record(z.string(), z.json());

const OwnerId = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed() && !text.includes('\0'), 'must be text without NUL or lone surrogates');

/** A task for the service. Keys may be written in camelCase or, as on the wire, in snake_case. */
export interface PythonExecutionRequestFields {
  /** What the user asked, in their own words. */
  readonly userQuery: string;
  /** What this step should achieve. */
  readonly taskObjective: string;
  /** Part of the name of the record folder; characters that a name cannot have become "_". */
  readonly executionFolderName: string;
  /** Additional guidance for code generation. */
  readonly capabilityPrompts?: readonly string[] | undefined;
  /** Names in `results` and their types, such as `dict`, `list`, `float` or `pandas.DataFrame`. */
  readonly expectedResults?: Readonly<Record<string, string>> | undefined;
  /** Data from other steps: `context.TYPE.key.field`. */
  readonly capabilityContextData?: Readonly<Record<string, Json>> | null | undefined;
  /** How many retries the task may use in total; 3 by default. */
  readonly retries?: number | undefined;
  /** Code to run instead of generated code. */
  readonly approvedCode?: string | null | undefined;
  /** The folder of an earlier request to continue in. */
  readonly existingExecutionFolder?: string | null | undefined;
  /** Whose request it is; answers must pass the same ids in `configurable`. */
  readonly sessionContext?: { readonly chatId?: string; readonly userId?: string } | null | undefined;
}

const Request = z.strictObject({
  userQuery: z.string().describe('What the user asked, in their own words'),
  taskObjective: z.string().min(1).describe('What this step should achieve'),
  executionFolderName: z
    .string()
    .min(1)
    .max(1000)
    .regex(/^[^/\\\0]*$/, 'must be a name, not a path')
    .transform((name) => name.replaceAll(/[^\w.-]+/g, '_').slice(0, 100))
    .describe('Part of the name of the record folder; characters that a name cannot have become "_"'),
  capabilityPrompts: z.array(z.string()).default([]).describe('Additional guidance for code generation'),
  expectedResults: z
    .record(z.string(), z.string())
    .default({})
    .describe('Names in `results` and their types, such as `dict`, `list`, `float` or `pandas.DataFrame`'),
  capabilityContextData: JsonObject.nullable()
    .default(null)
    .describe('Data from other steps: `context.TYPE.key.field`'),
  retries: z.int().nonnegative().max(20).default(3).describe('How many retries the task may use in total'),
  approvedCode: z.string().nullable().default(null).describe('Code to run instead of generated code'),
  existingExecutionFolder: z
    .string()
    .nullable()
    .default(null)
    .describe('The folder of an earlier request to continue in'),
  sessionContext: z
    .strictObject({ chatId: OwnerId.optional(), userId: OwnerId.optional() })
    .nullable()
    .default(null)
    .describe('Whose request it is; answers must pass the same ids in `configurable`'),
});

export type PythonExecutionRequest = Readonly<z.infer<typeof Request>>;
export type PythonExecutionRequestInput = PythonExecutionRequestFields | Readonly<Record<string, unknown>>;

/** Creates a request, in the notation of the reference's examples: `PythonExecutionRequest({ user_query: … })`. */
export function PythonExecutionRequest(fields: PythonExecutionRequestInput): PythonExecutionRequest {
  return parseRequest(fields);
}

/** Accepts both spellings of the keys. The error names every wrong or unknown key. */
export function parseRequest(input: PythonExecutionRequestInput): PythonExecutionRequest {
  const { session_context: context, ...rest } = input as Readonly<Record<string, unknown>>;
  const sessionContext = context === undefined || context === null ? {} : { sessionContext: camelKeys(context) };
  return Object.freeze(parse(Request, { ...camelKeys(rest), ...sessionContext }));
}

/** The request as it is stored and shown, with snake_case keys. */
export function requestOnTheWire(request: PythonExecutionRequest): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    Object.entries(request).map(([key, value]) => [snakeCase(key), value === undefined ? null : (value as Json)]),
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

export function snakeCase(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

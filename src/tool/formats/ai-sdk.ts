/** A tool for the Vercel AI SDK. */
import type { CallContext, Observation, ParameterSchema, Tool } from '../tool.ts';

/** The arguments of a call, as the model wrote them. */
type Arguments = Record<string, unknown>;

/** A tool as `generateText`, `streamText` and agents of the AI SDK take it. */
export type AiSdkTool = {
  description: string;
  inputSchema: AiSdkSchema;
  /** Errors of the program are part of the output and never thrown. */
  execute(args: Arguments, options?: { abortSignal?: AbortSignal | undefined }): Promise<AiSdkOutput>;
  /** What the model gets: the text, and pictures if there are any. */
  toModelOutput(result: { output: AiSdkOutput }): AiSdkModelOutput;
};

/** What the AI SDK hands to your page, and `toModelOutput` to the model. */
export type AiSdkOutput = Pick<Observation, 'text' | 'isError' | 'images'>;

export type AiSdkModelOutput =
  | { type: 'text'; value: string }
  | { type: 'error-text'; value: string }
  | { type: 'content'; value: AiSdkContent[] };

export type AiSdkContent = { type: 'text'; text: string } | { type: 'image-data'; data: string; mediaType: string };

/** A schema by the Standard Schema specification, which the AI SDK reads without knowing who made it. */
export type AiSdkSchema = {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: 'vivarium';
    readonly types?: { readonly input: Arguments; readonly output: Arguments } | undefined;
    readonly validate: (
      value: unknown,
    ) => { readonly value: Arguments } | { readonly issues: readonly { readonly message: string }[] };
    readonly jsonSchema: {
      readonly input: () => ParameterSchema;
      readonly output: () => ParameterSchema;
    };
  };
};

/** Use it as it is: `tools: { python: await toAiSdkTool(tool, { clientId }) }`. */
export async function toAiSdkTool(tool: Tool, context: CallContext = {}): Promise<AiSdkTool> {
  const { description, parameters } = await tool.define();
  return {
    description,
    inputSchema: schemaOf(parameters),
    execute: async (args, { abortSignal } = {}) => {
      const { text, isError, images } = await tool.call(args, { context, ...(abortSignal && { signal: abortSignal }) });
      return { text, isError, ...(images && { images }) };
    },
    toModelOutput: ({ output }) => modelOutputOf(output),
  };
}

function modelOutputOf({ text, isError, images = [] }: AiSdkOutput): AiSdkModelOutput {
  if (isError) return { type: 'error-text', value: text };
  if (images.length === 0) return { type: 'text', value: text };
  const pictures = images.map(({ mimeType, data }) => ({ type: 'image-data' as const, data, mediaType: mimeType }));
  return { type: 'content', value: [{ type: 'text', text }, ...pictures] };
}

/** Only looks whether the arguments are an object: the tool itself checks them, and tells the model what is wrong. */
function schemaOf(parameters: ParameterSchema): AiSdkSchema {
  const jsonSchema = (): ParameterSchema => structuredClone(parameters);
  return {
    '~standard': {
      version: 1,
      vendor: 'vivarium',
      validate: (value) =>
        isObject(value) ? { value } : { issues: [{ message: 'The arguments must be a JSON object.' }] },
      jsonSchema: { input: jsonSchema, output: jsonSchema },
    },
  };
}

function isObject(value: unknown): value is Arguments {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

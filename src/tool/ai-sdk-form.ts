import type { CallContext, ParameterSchema, Tool } from './tool.ts';

/** What the `tool()` of the Vercel AI SDK takes, once `inputSchema` is wrapped in its `jsonSchema()`. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: ParameterSchema;
  /** Resolves to the text that the model sees; what the program does is in it, never thrown. */
  execute(
    args: Readonly<Record<string, unknown>>,
    options?: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<string>;
}

/** `tool({ ...form, inputSchema: jsonSchema(form.inputSchema) })` is the tool. */
export async function toAiSdkTool(tool: Tool, context: CallContext = {}): Promise<AiSdkTool> {
  const { description, parameters } = await tool.define();
  return {
    description,
    inputSchema: parameters,
    execute: async (args, { abortSignal } = {}) => {
      const { text } = await tool.call(args, { context, ...(abortSignal && { signal: abortSignal }) });
      return text;
    },
  };
}

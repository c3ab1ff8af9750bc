/** A tool in the formats of OpenAI, Anthropic, MCP, LangChain and the Vercel AI SDK. */
import type { DynamicStructuredTool } from '@langchain/core/tools';
import type { CallContext, ParameterSchema, Tool, ToolDefinition } from './tool.ts';

/** Used by OpenAI and by all servers that speak its protocol. */
export interface OpenAITool {
  readonly type: 'function';
  readonly function: ToolDefinition;
}

export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: ParameterSchema;
}

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ParameterSchema;
  readonly annotations?: McpAnnotations;
}

/** MCP clients use these hints to decide when to ask the user. */
export interface McpAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** What the hints are made from. */
export interface ToolTraits {
  /** The tool changes nothing. */
  readonly isReadOnly: boolean;
  /** The code that it runs can reach other machines. */
  readonly usesNetwork: boolean;
}

/** What the `tool()` of the Vercel AI SDK takes, once `inputSchema` is wrapped in its `jsonSchema()`. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: ParameterSchema;
  /** Resolves to the text for the model. Errors of the program are part of the text and never thrown. */
  execute(
    args: Readonly<Record<string, unknown>>,
    options?: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<string>;
}

export interface LangChainOptions {
  /** Who calls. Without it, each LangGraph thread has its own interpreter. */
  readonly context?: CallContext;
}

export function toOpenAITool({ name, description, parameters }: ToolDefinition): OpenAITool {
  return { type: 'function', function: { name, description, parameters } };
}

export function toAnthropicTool({ name, description, parameters }: ToolDefinition): AnthropicTool {
  return { name, description, input_schema: parameters };
}

/** Without traits there are no hints, and clients assume the worst. */
export function toMcpTool({ name, description, parameters }: ToolDefinition, traits?: ToolTraits): McpTool {
  return { name, description, inputSchema: parameters, ...(traits && { annotations: annotate(traits) }) };
}

/** Use it as `tool({ ...form, inputSchema: jsonSchema(form.inputSchema) })`. */
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

/** For `bindTools`, `ToolNode` and LangChain agents. The content is the text for the model, the artifact is the payload. */
export async function toLangChainTool(tool: Tool, { context }: LangChainOptions = {}): Promise<DynamicStructuredTool> {
  const [{ DynamicStructuredTool: LangChainTool }, { ToolMessage }] = await Promise.all([
    import('@langchain/core/tools'),
    import('@langchain/core/messages'),
  ]);
  const { name, description, parameters } = await tool.define();
  return new LangChainTool({
    name,
    description,
    schema: { ...parameters, properties: { ...parameters.properties }, required: [...parameters.required] },
    responseFormat: 'content_and_artifact',
    func: async (args: Readonly<Record<string, unknown>>, _runManager, config) => {
      const observation = await tool.call(args, {
        ...(config?.signal && { signal: config.signal }),
        context: context ?? threadOf(config?.configurable),
      });
      config?.signal?.throwIfAborted();
      const { text: content, payload: artifact, isError } = observation;
      const id = callId(config);
      if (!isError || id === undefined) return [content, artifact];
      return [new ToolMessage({ content, artifact, tool_call_id: id, name, status: 'error' }), artifact];
    },
  });
}

function annotate({ isReadOnly, usesNetwork }: ToolTraits): McpAnnotations {
  return {
    readOnlyHint: isReadOnly,
    destructiveHint: !isReadOnly,
    idempotentHint: isReadOnly, // the same code may do something else when it runs again
    openWorldHint: usesNetwork,
  };
}

function threadOf(configurable: Readonly<Record<string, unknown>> | undefined): CallContext {
  const thread = configurable?.['thread_id'];
  return typeof thread === 'string' && thread !== '' ? { chatId: thread } : {};
}

/** The id of the model's call; undefined when a program calls the tool. */
function callId(config: unknown): string | undefined {
  if (typeof config !== 'object' || config === null || !('toolCall' in config)) return undefined;
  const { toolCall } = config;
  if (typeof toolCall !== 'object' || toolCall === null || !('id' in toolCall)) return undefined;
  return typeof toolCall.id === 'string' ? toolCall.id : undefined;
}

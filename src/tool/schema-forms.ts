/** What a tool is called in the words of others: the same definition in the forms that they expect. */
import type { ParameterSchema, ToolDefinition } from './tool.ts';

/** As OpenAI, and everything that speaks its protocol, has it. */
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

/** Hints that clients of MCP ask people by. */
export interface McpAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** What is known of a tool besides its definition. */
export interface ToolTraits {
  /** It looks at things and changes none. */
  readonly isReadOnly: boolean;
  /** What it runs can reach other machines. */
  readonly usesNetwork: boolean;
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

function annotate({ isReadOnly, usesNetwork }: ToolTraits): McpAnnotations {
  return {
    readOnlyHint: isReadOnly,
    destructiveHint: !isReadOnly,
    idempotentHint: isReadOnly, // code that runs twice may do something else the second time
    openWorldHint: usesNetwork,
  };
}

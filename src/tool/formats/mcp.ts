/** A tool and its results for MCP servers. */
import type { Observation, ParameterSchema, ToolDefinition } from '../tool.ts';

export type McpTool = {
  name: string;
  description: string;
  inputSchema: ParameterSchema;
  annotations?: McpAnnotations;
};

/** MCP clients use these hints to decide when to ask the user. */
export type McpAnnotations = {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
};

/** What the hints are made from. */
export interface ToolTraits {
  /** The tool changes nothing. */
  readonly isReadOnly: boolean;
  /** The code that it runs can reach other machines. */
  readonly usesNetwork: boolean;
}

/** What `tools/call` answers. */
export type McpToolResult = {
  content: ({ type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string })[];
  isError: boolean;
};

/** Without traits there are no hints, and clients assume the worst. */
export function toMcpTool({ name, description, parameters }: ToolDefinition, traits?: ToolTraits): McpTool {
  return { name, description, inputSchema: parameters, ...(traits && { annotations: annotate(traits) }) };
}

/** The text of a call and its pictures. */
export function toMcpResult({ text, images = [], isError }: Observation): McpToolResult {
  const pictures = images.map(({ data, mimeType }) => ({ type: 'image' as const, data, mimeType }));
  return { content: [{ type: 'text', text }, ...pictures], isError };
}

function annotate({ isReadOnly, usesNetwork }: ToolTraits): McpAnnotations {
  return {
    readOnlyHint: isReadOnly,
    destructiveHint: !isReadOnly,
    idempotentHint: isReadOnly, // the same code may do something else when it runs again
    openWorldHint: usesNetwork,
  };
}

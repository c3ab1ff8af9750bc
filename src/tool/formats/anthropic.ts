/** A tool and its results for the API of Anthropic. */
import type { Observation, ParameterSchema, ToolDefinition, ToolImage } from '../tool.ts';

export type AnthropicTool = { name: string; description: string; input_schema: ParameterSchema };

/** The result of a call: a block of the next message of the user. */
export type AnthropicToolResult = {
  type: 'tool_result';
  tool_use_id: string;
  content: ({ type: 'text'; text: string } | { type: 'image'; source: AnthropicImageSource })[];
  is_error: boolean;
};

export type AnthropicImageSource = { type: 'base64'; media_type: ToolImage['mimeType']; data: string };

export function toAnthropicTool({ name, description, parameters }: ToolDefinition): AnthropicTool {
  return { name, description, input_schema: parameters };
}

/** The text of a call and its pictures. `toolUseId` is the id of the model's `tool_use` block. */
export function toAnthropicResult(toolUseId: string, { text, images = [], isError }: Observation): AnthropicToolResult {
  // The API refuses an empty text, and a failed result with pictures.
  const shown = isError ? [] : images;
  return {
    type: 'tool_result',
    tool_use_id: toolUseId,
    content: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...shown.map(({ mimeType, data }) => ({
        type: 'image' as const,
        source: { type: 'base64' as const, media_type: mimeType, data },
      })),
    ],
    is_error: isError,
  };
}

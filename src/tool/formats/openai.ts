/** A tool and its results for the two APIs of OpenAI, and for all servers that speak them. */
import { dataUriOf } from '../images.ts';
import type { Observation, ParameterSchema, ToolDefinition } from '../tool.ts';

/** A tool of the chat completions API. */
export type OpenAITool = {
  type: 'function';
  function: { name: string; description: string; parameters: ParameterSchema };
};

/** The result of a call, for the chat completions API. */
export type OpenAIToolMessage = { role: 'tool'; tool_call_id: string; content: string };

/** A tool of the Responses API. */
export type OpenAIResponsesTool = {
  type: 'function';
  name: string;
  description: string;
  parameters: ParameterSchema;
  strict: false;
};

/** The result of a call, for the Responses API. */
export type OpenAIResponsesOutput = {
  type: 'function_call_output';
  call_id: string;
  output:
    | string
    | ({ type: 'input_text'; text: string } | { type: 'input_image'; image_url: string; detail: 'auto' })[];
};

export function toOpenAITool({ name, description, parameters }: ToolDefinition): OpenAITool {
  return { type: 'function', function: { name, description, parameters } };
}

/** A message of this API cannot have pictures; the text names the figures. */
export function toOpenAIMessage(callId: string, { text }: Observation): OpenAIToolMessage {
  return { role: 'tool', tool_call_id: callId, content: text };
}

/** Not strict: a strict schema has no optional arguments. */
export function toOpenAIResponsesTool({ name, description, parameters }: ToolDefinition): OpenAIResponsesTool {
  return { type: 'function', name, description, parameters, strict: false };
}

/** The text of a call and its pictures. `callId` is the `call_id` of the model's call. */
export function toOpenAIResponsesOutput(callId: string, { text, images = [] }: Observation): OpenAIResponsesOutput {
  const pictures = images.map((image) => ({
    type: 'input_image' as const,
    image_url: dataUriOf(image),
    detail: 'auto' as const,
  }));
  const output = pictures.length === 0 ? text : [{ type: 'input_text' as const, text }, ...pictures];
  return { type: 'function_call_output', call_id: callId, output };
}

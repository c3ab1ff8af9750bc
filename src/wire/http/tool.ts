/** Tools over HTTP. */
import { z } from 'zod';
import { JsonSchema } from '../values.ts';

const Context = z.strictObject({
  clientId: z.string().exactOptional().describe('The client that calls.'),
  chatId: z.string().exactOptional().describe('The conversation. Each has an interpreter of its own.'),
  sessionId: z.string().exactOptional().describe('A session that you name yourself.'),
  variables: z.record(z.string(), JsonSchema).exactOptional().describe('More data for the code; for some tools.'),
});

export const ToolListSchema = z
  .object({ tools: z.array(JsonSchema).describe('The definitions, in the form that was asked for.') })
  .meta({ id: 'ToolList', description: 'The tools that models can be given.' });

export const ToolCallSchema = z
  .strictObject({
    arguments: z.record(z.string(), JsonSchema).describe('The arguments, as the model wrote them.'),
    context: Context.exactOptional().describe('Who calls, so that two conversations never share an interpreter.'),
  })
  .meta({
    id: 'ToolCall',
    description: 'A call of a tool.',
    examples: [{ arguments: { code: '1 + 1' }, context: { chatId: 'chat-1' } }],
  });

export const ObservationSchema = z
  .object({
    text: z.string().describe('For the model: compact, without base64.'),
    payload: JsonSchema.describe("For programs: the result in the tool's own shape."),
    isError: z.boolean().describe('Whether the call was refused or the code failed.'),
    images: z
      .array(z.object({ mimeType: z.string().describe('The MIME type.'), data: z.string().describe('In base64.') }))
      .exactOptional()
      .describe('The figures, for models that can see.'),
  })
  .meta({ id: 'Observation', description: 'The result of a call of a tool.' });

import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';
import { readArguments } from '../../tool/call.ts';
import type { CallOptions, Observation, ParameterSchema, Tool } from '../../tool/tool.ts';

export interface FunctionToolOptions<S extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  /** The arguments; what `describe` says of each, the model is told. */
  readonly parameters: S;
  /** A string is what the model sees; whatever else is JSON. An error that is thrown, the model is told. */
  readonly run: (args: z.output<S>, options: CallOptions) => unknown;
}

/** A function as a tool: arguments that do not fit its schema never reach it. */
export function tool<S extends z.ZodObject>(options: FunctionToolOptions<S>): Tool {
  const { name, description, parameters, run } = options;
  // Of what a caller may leave out, the model is told that it may.
  const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: 'input' });
  const definition = { name, description, parameters: { required: [], ...schema } as unknown as ParameterSchema };
  return {
    name,
    define: () => Promise.resolve(definition),
    call: async (args, callOptions = {}) => {
      const read = readArguments<z.output<S>>(parameters as unknown as z.ZodType<z.output<S>>, args);
      return 'refusal' in read ? read.refusal : observationOf(await run(read.value, callOptions));
    },
  };
}

/** As JSON has it: what it cannot hold, a date or a class of one's own, is what it makes of it. */
function observationOf(result: unknown): Observation {
  const payload = JSON.parse(JSON.stringify(result) ?? 'null') as Json;
  return { text: typeof payload === 'string' ? payload : JSON.stringify(payload), payload, isError: false };
}

import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';
import { readArguments } from '../../tool/call.ts';
import type { CallOptions, Observation, ParameterSchema, Tool } from '../../tool/tool.ts';

/** An object of any zod 4: yours may have another version than ours. */
export interface ObjectSchema {
  readonly _zod: { readonly output: unknown; readonly def: { readonly type: 'object' } };
}

/** A function that models can call. */
export interface FunctionToolOptions<S extends ObjectSchema> {
  /** The name that models call it by. */
  readonly name: string;
  /** What models are told about it. */
  readonly description: string;
  /** The schema of the arguments. The model is told what `describe` says about each. */
  readonly parameters: S;
  /** The model sees a string as it is, and any other value as JSON. It is also told about errors that are thrown. */
  readonly run: (args: S['_zod']['output'], options: CallOptions) => unknown;
}

/** Makes a tool from a function. Only arguments that match the schema reach the function. */
export function tool<S extends ObjectSchema>(options: FunctionToolOptions<S>): Tool {
  const { name, description, run } = options;
  const parameters = options.parameters as unknown as z.ZodType<S['_zod']['output']>;
  // The input side of the schema: arguments with a default are optional for the model.
  const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: 'input' });
  const definition = { name, description, parameters: { required: [], ...schema } as unknown as ParameterSchema };
  return {
    name,
    define: () => Promise.resolve(definition),
    call: async (args, callOptions = {}) => {
      const read = readArguments(parameters, args);
      return 'refusal' in read ? read.refusal : observationOf(await run(read.value, callOptions));
    },
  };
}

/** Converts the result as JSON does: a date becomes a string, an instance of a class a plain object. */
function observationOf(result: unknown): Observation {
  const payload = JSON.parse(JSON.stringify(result) ?? 'null') as Json;
  return { text: typeof payload === 'string' ? payload : JSON.stringify(payload), payload, isError: false };
}

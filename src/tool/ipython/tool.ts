import { z } from 'zod';
import { forModel } from '../../text/for-model.ts';
import type { ActionDescription } from '../action/description.ts';
import { isAnswer, readArguments, refuse } from '../answers.ts';
import type { CallContext, CallOptions, Observation, Tool } from '../tool.ts';
import type { Execution } from '../../execution/execution.ts';
import { ActionStatusCode, type ActionReturn } from '../action/action-return.ts';

/** What the tool needs of its action. */
interface Notebook {
  readonly name: string;
  readonly description: ActionDescription;
  readonly timeout: number;
  initialize(context: CallContext): Promise<void>;
  execute(command: string, timeout: number, options: CallOptions): Promise<Performed>;
}

interface Performed {
  readonly returned: ActionReturn;
  readonly execution: Execution;
}

const Command = z.strictObject({
  command: z.string(),
  timeout: z
    .number()
    .positive()
    .max(24 * 3600)
    .nullish(),
});

/** A notebook as a tool: what the model sees is compact, what programs get is the `ActionReturn`. */
export function ipythonTool(notebook: Notebook): Tool {
  const { name } = notebook;
  return {
    name,
    define: async () => {
      await notebook.initialize({}); // the text tells of the live session
      return {
        name,
        description: notebook.description.description,
        parameters: {
          type: 'object',
          properties: {
            command: { type: 'string', description: 'Python code' },
            timeout: { type: 'number', description: 'Upper bound of waiting time in seconds' },
          },
          required: ['command'],
        },
      };
    },
    call: async (args, options = {}) => {
      const read = readArguments(Command, args);
      if ('refusal' in read) return read.refusal;
      try {
        const { command, timeout } = read.value;
        return observationOf(command, await notebook.execute(command, timeout ?? notebook.timeout, options));
      } catch (error) {
        if (isAnswer(error)) return refuse(error.message, { errmsg: error.message, state: ActionStatusCode.API_ERROR });
        throw error;
      }
    },
  };
}

function observationOf(command: string, { returned, execution }: Performed): Observation {
  const { url, type, result, errmsg, state, thought, valid } = returned;
  const payload = { args: { text: command }, url, type, result, errmsg, state, thought, valid };
  return { text: forModel(execution), payload, isError: errmsg !== null };
}

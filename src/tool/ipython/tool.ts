import { z } from 'zod';
import { forModel } from '../../text/for-model.ts';
import type { ActionDescription } from '../action/description.ts';
import { readArguments, refuse } from '../answers.ts';
import type { CallContext, CallOptions, Observation, Tool } from '../tool.ts';
import type { Execution } from '../../execution/execution.ts';
import { ActionStatusCode, type ActionReturn } from '../action/action-return.ts';

/** What the tool needs of its action. */
interface Notebook {
  readonly name: string;
  readonly enable: boolean;
  readonly description: ActionDescription;
  readonly timeout: number;
  initialize(context?: CallContext): Promise<void>;
  execute(command: string, timeout: number, options: CallOptions): Promise<Performed>;
}

interface Performed {
  readonly returned: ActionReturn;
  readonly execution?: Execution;
  readonly loss: string | null;
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
    get isEnabled() {
      return notebook.enable;
    },
    define: async () => {
      await notebook.initialize(); // the text tells of the live session
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
      if (!notebook.enable) return disabled(name);
      const { command, timeout } = read.value;
      return observationOf(command, await notebook.execute(command, timeout ?? notebook.timeout, options));
    },
  };
}

function disabled(name: string): Observation {
  const errmsg = `${name} is disabled.`;
  return refuse(errmsg, { errmsg, state: ActionStatusCode.API_ERROR });
}

function observationOf(command: string, { returned, execution, loss }: Performed): Observation {
  const { url, type, result, errmsg, state, thought, valid, isolation } = returned;
  const walls = isolation === undefined ? {} : { isolation };
  const payload = { args: { text: command }, url, type, result, errmsg, state, thought, valid, ...walls };
  const text = [
    ...(loss === null ? [] : [`[${loss}]`]),
    execution === undefined ? (errmsg ?? '') : forModel(execution),
    ...linksOf(returned),
  ].join('\n');
  return { text, payload, isError: errmsg !== null };
}

/** Where the figures are: a model can only point to what it has seen the path of. */
function linksOf({ result }: ActionReturn): string[] {
  const files = (result ?? []).filter(({ type }) => type !== 'text');
  return files.map(({ type, content }) => `[${type}](${content})`);
}

import { z } from 'zod';
import type { Execution } from '../../execution/execution.ts';
import { forModel } from '../../text/for-model.ts';
import { ActionStatusCode, type ActionDescription, type ActionReturn } from '../action/contract.ts';
import { readArguments, refuse } from '../call.ts';
import type { CallContext, CallOptions, Observation, Tool } from '../tool.ts';

/** The part of `IPythonInterpreter` that the tool uses. */
interface NotebookAction {
  readonly name: string;
  readonly enable: boolean;
  readonly description: ActionDescription;
  readonly timeout: number;
  initialize(context?: CallContext): Promise<void>;
  execute(command: string, timeout: number, options: CallOptions): Promise<NotebookRun>;
}

interface NotebookRun {
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

/** The action as a tool. The model gets a compact text, programs get the `ActionReturn`. */
export function ipythonTool(notebook: NotebookAction): Tool {
  const { name } = notebook;
  return {
    name,
    get isEnabled() {
      return notebook.enable;
    },
    define: async () => {
      await notebook.initialize(); // the description is of the live session
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

function observationOf(command: string, { returned, execution, loss }: NotebookRun): Observation {
  const { url, type, result, errmsg, state, thought, valid, isolation } = returned;
  const payload = {
    args: { text: command },
    url,
    type,
    result,
    errmsg,
    state,
    thought,
    valid,
    ...(isolation !== undefined && { isolation }),
  };
  const text = [
    ...(loss === null ? [] : [`[${loss}]`]),
    execution === undefined ? (errmsg ?? '') : forModel(execution),
    ...linksOf(returned),
  ].join('\n');
  return { text, payload, isError: errmsg !== null };
}

/** The paths of the figures, so that the model can refer to them. */
function linksOf({ result }: ActionReturn): string[] {
  const files = (result ?? []).filter(({ type }) => type !== 'text');
  return files.map(({ type, content }) => `[${type}](${content})`);
}

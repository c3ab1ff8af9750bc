import { z } from 'zod';
import type { Execution } from '../../execution/execution.ts';
import { forModel } from '../../text/for-model.ts';
import { ActionStatusCode, type ActionDescription, type ActionReturn } from '../action/contract.ts';
import { readArguments, refuse } from '../call.ts';
import type { LoadedFigure } from '../figures.ts';
import { imagesOf } from '../images.ts';
import type { CallContext, CallOptions, Observation, ParameterSchema, Tool } from '../tool.ts';
import { codeParameter } from './description.ts';

/** The part of `IPythonInterpreter` that the tool uses. */
interface NotebookAction {
  readonly name: string;
  readonly enable: boolean;
  readonly description: ActionDescription;
  readonly timeout: number;
  initialize(context?: CallContext): Promise<void>;
  execute(command: string, timeout: number, options: CallOptions): Promise<NotebookRun>;
  figuresOf(execution: Execution): Promise<readonly LoadedFigure[]>;
}

interface NotebookRun {
  readonly returned: ActionReturn;
  readonly execution?: Execution;
  readonly loss: string | null;
}

const Timeout = z
  .number()
  .positive()
  .max(24 * 3600)
  .nullish();

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
      const { description } = notebook;
      return { name, description: description.description, parameters: schemaOf(description) };
    },
    call: async (args, options = {}) => {
      const code = codeParameter(notebook.description);
      const read = readArguments(argumentsOf(notebook.description, code), args);
      if ('refusal' in read) return read.refusal;
      if (!notebook.enable) return disabled(name);
      const command = read.value[code] as string;
      const timeout = read.value['timeout'] as number | null | undefined;
      const finished = await notebook.execute(command, timeout ?? notebook.timeout, options);
      const figures = finished.execution === undefined ? [] : await notebook.figuresOf(finished.execution);
      return { ...observationOf(command, finished), ...imagesOf(figures) };
    },
  };
}

const TYPES: Readonly<Record<string, ParameterType>> = {
  STRING: 'string',
  NUMBER: 'number',
  FLOAT: 'number',
  BOOLEAN: 'boolean',
  ARRAY: 'array',
};
type ParameterType = 'string' | 'number' | 'boolean' | 'array';

/** The parameters of a description, which may be the user's own, as a JSON schema. */
function schemaOf({ parameters, required }: ActionDescription): ParameterSchema {
  const properties = parameters.map(({ name, type, description }) => [
    name,
    { type: TYPES[type.toUpperCase()] ?? 'string', description },
  ]);
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as ParameterSchema['properties'],
    required: [...required],
  };
}

/** The code is always needed. Parameters that only the user knows are taken as they come. */
function argumentsOf({ parameters }: ActionDescription, code: string): z.ZodType<Readonly<Record<string, unknown>>> {
  const shape = parameters.map(({ name }) => [name, name === 'timeout' ? Timeout : z.unknown().optional()]);
  return z.strictObject({ ...(Object.fromEntries(shape) as Record<string, z.ZodType>), [code]: z.string() });
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

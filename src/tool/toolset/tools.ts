import { z } from 'zod';
import { shortenEnd } from '../../text/excerpt.ts';
import { forModel } from '../../text/for-model.ts';
import { readArguments } from '../call.ts';
import { imagesOf } from '../images.ts';
import type { CallOptions, Tool, ToolDefinition } from '../tool.ts';
import type { ManageArguments, ManageResult, RunPythonArguments, RunPythonResult } from './result.ts';
import type { ToolsetRun } from './runner.ts';

const MAX_RESULT_CHARS = 10_000;

export const RunArguments = z.strictObject({
  code: z.string(),
  result_var_name: z.string().nullish(),
  interpreter_id: z.string().nullish(),
});

const Management = z.strictObject({ operation: z.string(), interpreter_id: z.string().nullish() });

/** The part of the toolset that its tools use. */
interface RunningToolset {
  describe(): Promise<string>;
  run(args: RunPythonArguments, options: CallOptions): Promise<ToolsetRun>;
  manageInterpreters(args: ManageArguments, options: CallOptions): Promise<ManageResult>;
}

/** `run_python_code` for a model. */
export function runPythonCodeTool(toolset: RunningToolset): Tool {
  const name = 'run_python_code';
  return {
    name,
    define: async () => ({
      name,
      description: [
        'Runs Python code and returns its output, figures and files. Every expression at the top level is printed.',
        await toolset.describe(),
        'Print intermediate results; use result_var_name to get structured data back; figures are captured automatically.',
      ].join(' '),
      parameters: {
        type: 'object',
        properties: {
          code: { type: 'string', description: 'The Python code to run' },
          result_var_name: { type: 'string', description: 'Variable whose value is returned as JSON' },
          interpreter_id: {
            type: 'string',
            description: 'Id of an interpreter from manage_interpreters; default: the one of this conversation',
          },
        },
        required: ['code'],
      },
    }),
    call: async (args, options = {}) => {
      const read = readArguments(RunArguments, args);
      if ('refusal' in read) return read.refusal;
      const finished = await toolset.run(read.value, options);
      const { result, figures = [] } = finished;
      return { text: textOf(finished), payload: { ...result }, isError: !result.success, ...imagesOf(figures) };
    },
  };
}

/** `manage_interpreters` for a model. */
export function manageInterpretersTool(toolset: RunningToolset): Tool {
  const name = 'manage_interpreters';
  return {
    name,
    define: () =>
      Promise.resolve({
        name,
        description:
          'Creates, lists, deletes, restarts and interrupts Python interpreters. This conversation already has one; create another only to keep variables apart.',
        parameters: {
          type: 'object',
          properties: {
            operation: {
              type: 'string',
              description:
                '"create", "list", "delete", "restart" (all variables are lost, files stay) or "interrupt" (stops the code that runs)',
            },
            interpreter_id: {
              type: 'string',
              description: 'Id of the interpreter; restart and interrupt default to the one of this conversation',
            },
          },
          required: ['operation'],
        },
      }),
    call: async (args, options = {}) => {
      const read = readArguments(Management, args);
      if ('refusal' in read) return read.refusal;
      const result = await toolset.manageInterpreters(read.value, options);
      return { text: JSON.stringify(result), payload: { ...result }, isError: !result.success };
    },
  };
}

/** A tool and its arguments, as `list_tools` returns them. */
export interface ListedTool {
  readonly name: string;
  readonly doc: string;
  readonly inputs: readonly {
    readonly name: string;
    readonly type: string;
    readonly doc: string;
    readonly default?: null;
  }[];
}

export function describeTool({ name, description, parameters }: ToolDefinition): ListedTool {
  const inputs = Object.entries(parameters.properties).map(([input, { type, description: doc }]) => ({
    name: input,
    type,
    doc,
    ...(!parameters.required.includes(input) && { default: null }),
  }));
  return { name, doc: description, inputs };
}

/** The text for the model, without the hidden fields. */
function textOf({ result, execution }: ToolsetRun): string {
  const parts = execution === undefined || result.interpreter_crashed ? [result.stderr] : [forModel(execution)];
  if (result.result !== null) parts.push(`[result: ${shortenEnd(JSON.stringify(result.result), MAX_RESULT_CHARS)}]`);
  const paths = result.fig_storage_paths ?? (result.fig_storage_path === undefined ? [] : [result.fig_storage_path]);
  if (paths.length > 0) parts.push(`[figures saved as ${paths.join(', ')}]`);
  if (execution?.state.status === 'preserved' && execution.state.earlier === undefined)
    parts.push(...restartNote(result));
  return parts.join('\n');
}

function restartNote({ interpreter_restarted: isRestarted, restart_reason: reason }: RunPythonResult): string[] {
  return isRestarted ? [`[the interpreter was restarted: ${reason}]`] : [];
}

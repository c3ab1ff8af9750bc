/** Actions that can be created by name. */
import { VivariumError } from '../../../errors.ts';
import { FinishAction, InvalidAction, NoAction } from '../../action/actions.ts';
import { PythonInterpreter } from './answer.ts';
import { AsyncIPythonInterpreter } from './async.ts';
import { BatchIPythonInterpreter } from './batch.ts';
import { IPythonInteractive, IPythonInteractiveManager } from './interactive.ts';
import { IPythonInterpreter } from '../ipython.ts';

const TOOLS = {
  IPythonInterpreter,
  AsyncIPythonInterpreter,
  BatchIPythonInterpreter,
  IPythonInteractive,
  IPythonInteractiveManager,
  PythonInterpreter,
  FinishAction,
  InvalidAction,
  NoAction,
} as const;
export type ToolName = keyof typeof TOOLS;

export function listTools(): ToolName[] {
  return Object.keys(TOOLS) as ToolName[];
}

export function getToolClass<N extends ToolName>(name: N): (typeof TOOLS)[N] {
  if (Object.hasOwn(TOOLS, name)) return TOOLS[name];
  throw new VivariumError(
    'CONFIG_INVALID',
    `There is no tool named ${JSON.stringify(name)}. Use one of: ${listTools().join(', ')}.`,
  );
}

/** Creates an action with these options. */
export function getTool<N extends ToolName>(
  name: N,
  ...args: ConstructorParameters<(typeof TOOLS)[N]>
): InstanceType<(typeof TOOLS)[N]> {
  return Reflect.construct(getToolClass(name), args) as InstanceType<(typeof TOOLS)[N]>;
}

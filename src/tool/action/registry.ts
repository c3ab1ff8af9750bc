import { FinishAction, InvalidAction, NoAction } from './builtin-actions.ts';
import { VivariumError } from '../../errors.ts';
import { BatchIPythonInterpreter } from '../ipython/batch.ts';
import { IPythonInterpreter } from '../ipython/ipython.ts';

/** The actions that can be made by name. */
const TOOLS = {
  IPythonInterpreter,
  BatchIPythonInterpreter,
  FinishAction,
  InvalidAction,
  NoAction,
} as const;
export type ToolName = keyof typeof TOOLS;

/** Their names. */
export function listTools(): ToolName[] {
  return Object.keys(TOOLS) as ToolName[];
}

/** The class of an action. */
export function getToolClass<N extends ToolName>(name: N): (typeof TOOLS)[N] {
  if (Object.hasOwn(TOOLS, name)) return TOOLS[name];
  throw new VivariumError(
    'CONFIG_INVALID',
    `There is no tool named ${JSON.stringify(name)}. Those there are: ${listTools().join(', ')}.`,
  );
}

/** An action, made with these options. */
export function getTool<N extends ToolName>(
  name: N,
  ...args: ConstructorParameters<(typeof TOOLS)[N]>
): InstanceType<(typeof TOOLS)[N]> {
  return Reflect.construct(getToolClass(name), args) as InstanceType<(typeof TOOLS)[N]>;
}

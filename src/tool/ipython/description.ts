import type { Host } from '../../host/host.ts';
import type { ActionDescription } from '../action/description.ts';
import { describeMounts, describePython, describeWalls, seconds } from '../description.ts';
import { isolationOf, resolveAccess } from '../place/access.ts';
import type { IPythonSettings } from './options.ts';

/** Before its text is known: the calls that the action has. */
export const OWN_DESCRIPTION: ActionDescription = {
  name: 'IPythonInterpreter',
  description: 'Executes Python code in a stateful notebook environment.',
  parameters: [
    { name: 'command', type: 'STRING', description: 'Python code' },
    { name: 'timeout', type: 'NUMBER', description: 'Upper bound of waiting time for Python script execution.' },
  ],
  required: ['command'],
};

/** The text that the original promises, made true: with the real limit, and with what is known of the interpreter. */
export function describeNotebook(
  { timeout, access: given, userDataDir }: IPythonSettings,
  engine: Host | undefined,
): string {
  const access = resolveAccess(given, engine ?? NO_ENGINE);
  const isolation = isolationOf(engine ?? NO_ENGINE, access);
  const directory = userDataDir();
  return [
    'When you send a message containing Python code to python, it will be executed in a stateful Jupyter notebook environment.',
    `python will respond with the output of the execution or time out after ${seconds(timeout * 1000)} seconds.`,
    isolation.files === 'private-root'
      ? "The drive at '/mnt/data' can be used to save and persist user files."
      : 'Files in the current directory stay for later calls.',
    ...(directory === '' ? [] : [`User files can be read in the current directory, ${directory}.`]),
    ...describeMounts(access.mounts),
    isolation.network === 'none'
      ? 'Internet access for this session is disabled. Do not make external web requests or API calls as they will fail.'
      : 'Internet access for this session is that of the host.',
    ...(engine === undefined ? [] : [`It is ${describePython({ environment: engine.environment, isolation })}.`]),
    ...describeWalls(isolation),
  ].join(' ');
}

/** Before there is an interpreter: one of the action's own has full walls, or does not start. */
const NO_ENGINE = {
  access: { mounts: [], network: false, environment: {} },
  isolation: { level: 'namespaces', files: 'private-root', network: 'none' },
} as const;

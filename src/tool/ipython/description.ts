import type { Host } from '../../host/host.ts';
import { isolationOf, resolveAccess } from '../access.ts';
import type { ActionDescription } from '../action/contract.ts';
import { describeMounts, describePython, describeWeakness, seconds } from '../description.ts';
import type { IPythonSettings } from './options.ts';

/** The action's calls. `describeNotebook` replaces the text. */
export const OWN_DESCRIPTION: ActionDescription = {
  name: 'IPythonInterpreter',
  description: 'Executes Python code in a stateful notebook environment.',
  parameters: [
    { name: 'command', type: 'STRING', description: 'Python code' },
    { name: 'timeout', type: 'NUMBER', description: 'Upper bound of waiting time for Python script execution.' },
  ],
  required: ['command'],
};

/** The wording that models know, with the actual limit and what is known about the host. */
export function describeNotebook(
  { timeout, access: given, userDataDir }: IPythonSettings,
  host: Host | undefined,
): string {
  const access = resolveAccess(given, host ?? NO_HOST);
  const isolation = isolationOf(host ?? NO_HOST, access);
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
      : 'Internet access for this session is that of the machine.',
    ...(host === undefined ? [] : [`It is ${describePython({ environment: host.environment, isolation })}.`]),
    ...describeWeakness(isolation),
  ].join(' ');
}

/** Until the action has started its own host: that host has full isolation, or does not start. */
const NO_HOST = {
  access: { mounts: [], network: false, environment: {} },
  isolation: { level: 'namespaces', files: 'private-root', network: 'none' },
} as const;

import type { Host } from '../../host/host.ts';
import { isolationOf, resolveAccess } from '../access.ts';
import type { ActionDescription } from '../action/contract.ts';
import { describeMounts, describePython, describeWeakness, seconds } from '../description.ts';
import type { IPythonSettings } from './options.ts';
import type { UserData, UserDataAccess } from './user-data.ts';

/** The action's calls. Each class has its own name, and `describeNotebook` replaces the text. */
export const OWN_DESCRIPTION: Omit<ActionDescription, 'name'> = {
  description: 'Executes Python code in a stateful notebook environment.',
  parameters: [
    { name: 'command', type: 'STRING', description: 'Python code' },
    { name: 'timeout', type: 'NUMBER', description: 'Upper bound of waiting time for Python script execution.' },
  ],
  required: ['command'],
};

/** The parameter with the code: `command`, or the first one of a description of the user's own. */
export function codeParameter({ parameters }: Pick<ActionDescription, 'parameters'>): string {
  const isKnown = parameters.some(({ name }) => name === 'command');
  return isKnown ? 'command' : (parameters[0]?.name ?? 'command');
}

/** The wording that models know, with the actual limit and what is known about the host. */
export function describeNotebook(
  { timeout, access: given, userDataDir, userDataWritable }: IPythonSettings,
  host: Host | undefined,
  found?: UserData,
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
    ...(directory === ''
      ? []
      : [describeUserData(directory, found?.access ?? (userDataWritable ? 'shared' : 'read-only'))]),
    ...describeMounts(access.mounts),
    INTERNET[isolation.network],
    ...(host === undefined ? [] : [`It is ${describePython({ environment: host.environment, isolation })}.`]),
    ...describeWeakness(isolation),
  ].join(' ');
}

const INTERNET = {
  none: 'Internet access for this session is disabled. Do not make external web requests or API calls as they will fail.',
  list: 'Internet access for this session is limited to listed hosts; requests to others fail with an error that names the host.',
  host: 'Internet access for this session is that of the machine.',
} as const;

function describeUserData(directory: string, access: UserDataAccess): string {
  switch (access) {
    case 'shared':
      return `User files are in the current directory, ${directory}; files that you save there stay beside them.`;
    case 'copied':
      return 'Copies of the user files are in the current directory; files that you save there are copied back to the user.';
    case 'read-only':
      return `User files can be read in the current directory, ${directory}; save files in '/mnt/data'.`;
  }
}

/** Until the action has started its own host: that host has full isolation, or does not start. */
const NO_HOST = {
  access: { mounts: [], network: false, env: {}, packages: 'none' },
  isolation: { level: 'namespaces', files: 'private-root', network: 'none' },
} as const;

import type { Interpreter } from '../../session/interpreter.ts';
import type { ActionDescription } from '../action/description.ts';
import { seconds } from '../description.ts';

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
export function describeNotebook(timeout: number, engine: Interpreter | undefined, userDataDir: string): string {
  // Without an interpreter yet: one of the action's own has full walls, or does not start.
  const isolation = engine?.isolation ?? { files: 'private-root', network: 'none' };
  return [
    'When you send a message containing Python code to python, it will be executed in a stateful Jupyter notebook environment.',
    `python will respond with the output of the execution or time out after ${seconds(timeout * 1000)} seconds.`,
    ...(isolation.files === 'private-root'
      ? ["The drive at '/mnt/data' can be used to save and persist user files."]
      : ['Files in the current directory stay for later calls.']),
    ...(userDataDir === '' ? [] : [`User files can be read in the current directory, ${userDataDir}.`]),
    isolation.network === 'none'
      ? 'Internet access for this session is disabled. Do not make external web requests or API calls as they will fail.'
      : 'Internet access for this session is that of the host.',
    ...(engine === undefined ? [] : [describeLibraries(engine)]),
  ].join(' ');
}

function describeLibraries({ environment: { version, libraries } }: Interpreter): string {
  const names = Object.entries(libraries).map(([name, number]) => `${name} ${number}`);
  return `It is Python ${version}${names.length === 0 ? '' : ` with ${names.join(', ')}`}; nothing can be installed.`;
}

import { expect, test } from 'vitest';
import {
  describeLimits,
  describePython,
  describeSurroundings,
  describeWeakness,
  seconds,
  type Surroundings,
} from './description.ts';

const USUAL: Surroundings = {
  environment: { version: '3.12.1', libraries: { numpy: '2.0', pandas: '2.2' } },
  isolation: { level: 'namespaces', files: 'private-root', network: 'none' },
  timeoutMs: 5000,
  memoryMb: 256,
  keeps: 'variables and files',
};

test('L-12 P-20 the whole text for the usual host', () => {
  expect(describeSurroundings(USUAL)).toBe(
    'Python 3.12.1 with numpy 2.0, pandas 2.2; nothing can be installed. Variables and files stay from call to call. ' +
      'A call may take 5.0 seconds and use 256 MB of memory; over a limit it is stopped, and its output so far is kept. ' +
      'There is no network: requests to other machines fail. ' +
      'The current directory is /workspace (also found as /mnt/data); files there stay until the session ends. ' +
      'input() is disabled; shell lines (!ls) and notebook magics work.',
  );
});

test.for<[string, Partial<Surroundings>, readonly string[], readonly string[]]>([
  [
    'nothing is kept',
    { keeps: 'nothing' },
    [
      'Each call starts fresh: variables and files of earlier calls are gone.',
      'files there are returned to the caller.',
    ],
    ['stay'],
  ],
  [
    'the network is open',
    { isolation: { level: 'namespaces', files: 'private-root', network: 'host' } },
    ['The code can use the network of the machine.', 'pandas 2.2. Variables'],
    ['no network', 'nothing can be installed', 'WARNING'],
  ],
  [
    'there is no private root',
    { isolation: { level: 'landlock', files: 'landlock', network: 'none' } },
    [
      'Files in the current directory stay until the session ends.',
      'WARNING: isolation is weaker than usual ("landlock")',
    ],
    ['/workspace', '/mnt/data'],
  ],
  [
    'there is no isolation',
    { isolation: { level: 'none', files: 'host', network: 'host' } },
    ['WARNING: there is no isolation: the code runs with the files, the network and the rights of this user.'],
    ['/workspace', 'no network'],
  ],
  [
    'a Jupyter server decides',
    { isolation: { level: 'jupyter', files: 'host', network: 'host' }, memoryMb: undefined },
    ['The code runs on a Jupyter server, which decides what confines it.', 'A call may take 5.0 seconds; over'],
    ['WARNING', 'MB'],
  ],
  [
    'there is a working directory',
    { workdir: { path: '/srv/data', isWritable: true } },
    ['The current directory is /srv/data; it is shared with the machine. There is also /workspace (also found'],
    ['read-only'],
  ],
  [
    'the working directory is read-only and there is no private root',
    {
      isolation: { level: 'landlock', files: 'landlock', network: 'none' },
      workdir: { path: '/srv/data', isWritable: false },
    },
    [
      'The current directory is /srv/data; it is shared with the machine, and is read-only. Files in the current directory',
    ],
    ['/workspace'],
  ],
  [
    'paths are mounted',
    {
      mounts: [
        { target: '/in', writable: false },
        { target: '/out', writable: true },
      ],
    },
    ['/in is shared with the machine and read-only. /out is shared with the machine and writable.'],
    [],
  ],
  [
    'no library is known',
    { environment: { version: '3.13.0', libraries: {} } },
    ['Python 3.13.0; nothing'],
    [' with '],
  ],
])('X-07 the text is true where %s', ([, changes, present, absent]) => {
  const text = describeSurroundings({ ...USUAL, ...changes });
  for (const part of present) expect(text).toContain(part);
  for (const part of absent) expect(text).not.toContain(part);
});

test('each level of isolation below the usual one is told in one sentence', () => {
  expect(describeWeakness({ level: 'namespaces' })).toEqual([]);
  for (const level of ['landlock', 'none', 'jupyter'] as const) expect(describeWeakness({ level })).toHaveLength(1);
});

test.for([
  [5000, '5.0'],
  [20_000, '20.0'],
  [500, '0.5'],
  [1234, '1.234'],
  [1, '0.001'],
  [0, '0.0'],
] as const)('LB-02 %i ms are printed as Python prints a float: %s', ([ms, text]) => {
  expect(seconds(ms)).toBe(text);
});

test('limits and Python can be told on their own', () => {
  expect(describeLimits({ timeoutMs: 1500, memoryMb: 64 })).toMatch(
    /^A call may take 1\.5 seconds and use 64 MB of memory;/,
  );
  expect(describePython(USUAL)).toBe('Python 3.12.1 with numpy 2.0, pandas 2.2; nothing can be installed');
  const libraries = { numpy: '2.0', openpyxl: '3.1', pytz: '2026', rich: '15' };
  expect(describePython({ ...USUAL, environment: { version: '3.12.1', libraries } })).toBe(
    'Python 3.12.1 with numpy 2.0, openpyxl and 2 others; nothing can be installed',
  );
});

import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FinishAction } from '../action/actions.ts';
import { BatchIPythonInterpreter } from './variants/batch.ts';
import { describeNotebook } from './description.ts';
import { IPythonInterpreter } from './ipython.ts';
import { limitMs, parseIPython, type IPythonOptions } from './options.ts';
import { getTool, getToolClass, listTools, type ToolName } from './variants/registry.ts';

function setUserDataDir(value: string | undefined): void {
  const before = process.env['USER_DATA_DIR'];
  const set = (to: string | undefined): void => {
    if (to === undefined) delete process.env['USER_DATA_DIR'];
    else process.env['USER_DATA_DIR'] = to;
  };
  set(value);
  onTestFinished(() => set(before));
}

test('L-01 the defaults are those of the original', () => {
  setUserDataDir(undefined);
  const settings = parseIPython({});
  expect(settings.timeout).toBe(20);
  expect(settings.workDir).toBe(path.resolve('./work_dir/tmp_dir'));
  expect(settings.userDataDir()).toBe('');
  expect(settings.userDataWritable).toBe(true);
});

test.for<[IPythonOptions, string]>([
  [{}, '/from-env'],
  [{ userDataDir: 'ENV' }, '/from-env'],
  [{ user_data_dir: 'ENV' }, '/from-env'],
  [{ userDataDir: '/mine' }, '/mine'],
  [{ user_data_dir: '/mine' }, '/mine'],
  [{ userDataDir: null }, ''],
  [{ userDataDir: null, user_data_dir: '/other' }, ''],
  [{ userDataDir: '/mine', user_data_dir: '/other' }, '/mine'],
])('L-03 the user data directory of %j is "%s"', ([options, directory]) => {
  setUserDataDir('/from-env');
  expect(parseIPython(options).userDataDir()).toBe(directory);
});

test('L-03 the variable is read for each session, not once', () => {
  setUserDataDir('/one');
  const { userDataDir } = parseIPython({});
  expect(userDataDir()).toBe('/one');
  process.env['USER_DATA_DIR'] = '/two';
  expect(userDataDir()).toBe('/two');
});

test('L-04 work_dir has two spellings', () => {
  expect(parseIPython({ work_dir: '/a' }).workDir).toBe('/a');
  expect(parseIPython({ workDir: '/a', work_dir: '/b' }).workDir).toBe('/a');
});

test.for([0, -1, 86_400.001, Number.NaN, Number.POSITIVE_INFINITY])(
  'LB-02 a timeout of %s seconds is refused',
  (timeout) => {
    expect(() => limitMs(timeout)).toThrow(/timeout of .* seconds is invalid\. Give a number above 0 and up to 86400/);
    expect(() => new IPythonInterpreter({ timeout })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error,
    );
    expect(() => new BatchIPythonInterpreter({ timeout })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error,
    );
  },
);

test('a timeout is rounded up to whole milliseconds', () => {
  expect([limitMs(0.0001), limitMs(1.0005), limitMs(86_400)]).toEqual([1, 1001, 86_400_000]);
});

test('unknown options are refused', () => {
  expect(() => parseIPython({ time_out: 5 } as IPythonOptions)).toThrow(/time_out/);
});

test('L-12 before a host is known, the description promises only what its own host will keep', () => {
  setUserDataDir(undefined);
  const text = describeNotebook(parseIPython({ timeout: 2.5 }), undefined);
  expect(text).toContain('time out after 2.5 seconds');
  expect(text).toContain("The drive at '/mnt/data'");
  expect(text).toContain('Internet access for this session is disabled.');
  expect(text).not.toMatch(/It is Python|User files|WARNING/);
});

test('L-12 the description tells network, user files and mounts as they are', () => {
  const mounts = [{ source: '/a', target: '/b', writable: false }];
  const settings = parseIPython({ userDataDir: '/mine', network: true, mounts });
  const text = describeNotebook(settings, undefined);
  expect(text).toContain('Internet access for this session is that of the machine.');
  expect(text).toContain('User files are in the current directory, /mine; files that you save there stay beside them.');
  expect(describeNotebook(parseIPython({ userDataDir: '/mine', userDataWritable: false }), undefined)).toContain(
    "User files can be read in the current directory, /mine; save files in '/mnt/data'.",
  );
  expect(text).toContain('/b is shared with the machine and read-only.');
});

test('L-48 actions are listed, found and created by name', () => {
  expect(listTools()).toEqual([
    'IPythonInterpreter',
    'AsyncIPythonInterpreter',
    'BatchIPythonInterpreter',
    'IPythonInteractive',
    'IPythonInteractiveManager',
    'PythonInterpreter',
    'FinishAction',
    'InvalidAction',
    'NoAction',
  ]);
  for (const name of listTools()) expect(getTool(name)).toBeInstanceOf(getToolClass(name));
  expect(getToolClass('FinishAction')).toBe(FinishAction);
  expect(getTool('IPythonInterpreter', { timeout: 3 }).timeout).toBe(3);
});

test.for(['Nope', 'toString', '__proto__', ''])('L-48 there is no tool named %j', (name) => {
  expect(() => getToolClass(name as ToolName)).toThrow(
    `There is no tool named ${JSON.stringify(name)}. Use one of: ${listTools().join(', ')}.`,
  );
});

test('L-50 a batch wants one index for each command, and no index twice', async () => {
  await using batch = new BatchIPythonInterpreter();
  for (const indexes of [[0], [0, 1, 2], [1, 1]]) {
    await expect(batch.call(['a', 'b'], indexes)).rejects.toThrow(/no index may occur twice/);
  }
  expect(await batch.call([])).toEqual([]);
});

/** Folders that the host writes to and that lie in a directory which code can write. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { OutputFolder } from '../../../src/cli/session/output-folder.ts';
import type { Host } from '../../../src/host/host.ts';
import { createHost } from '../../../src/host/local/local-host.ts';
import { RecordFolder } from '../../../src/service/records/folder.ts';
import { CodeInterpreterTool } from '../../../src/tool/code-interpreter/code-interpreter.ts';
import { IPythonInterpreter } from '../../../src/tool/ipython/ipython.ts';

/** Puts a link to a directory of the machine in the place of the host's folder, and makes a file and a figure. */
const SWAP = (shared: string, outside: string): string => `
import os
name = ${JSON.stringify(shared)} + '/out'
if os.path.isdir(name):
    os.rename(name, name + '.aside')
os.symlink(${JSON.stringify(outside)}, name)
open('/workspace/produced.txt', 'w').write('x')
import matplotlib.pyplot as plt
plt.plot([1, 2])
`;

const ON_THE_WAY = /cannot be used: a link or a file stands on the way to it/;
const REFUSED = {
  code: 'FILE_REFUSED',
  message: expect.stringMatching(/a link or a file stands where a directory should be/) as unknown,
};

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], poolSize: 0 });
});
afterAll(() => host?.close());

let shared: string;
let outside: string;
beforeEach(() => {
  const base = mkdtempSync(path.join(tmpdir(), 'folders-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  [shared, outside] = [path.join(base, 'shared'), path.join(base, 'outside')];
  for (const directory of [shared, outside]) mkdirSync(directory);
  chmodSync(shared, 0o777); // for sessions of root, which have a user of their own
});

const mounts = (): { source: string; target: string; writable: boolean }[] => [
  { source: shared, target: shared, writable: true },
];

test.for([[false], [true]])('an output folder is not left through a link (there before: %s)', async ([isThere]) => {
  const directory = path.join(shared, 'out', 'results');
  if (isThere) mkdirSync(directory, { recursive: true });
  const report = (): Promise<void> => Promise.resolve();
  const folder = new OutputFolder({ directory, artifacts: host.artifacts, report });
  const execution = await host.runOnce(SWAP(shared, outside), { mounts: mounts() });
  expect(execution.files.map((file) => file.path)).toEqual(['produced.txt']);
  await expect(folder.addAll(execution)).rejects.toThrow(ON_THE_WAY);
  expect(readdirSync(outside)).toEqual([]);
});

test('the folder of a tool is not left through a link', async () => {
  const tool = new CodeInterpreterTool({ host, artifactDir: path.join(shared, 'out'), mounts: mounts() });
  await expect(tool.run({ code: SWAP(shared, outside) })).rejects.toThrow(ON_THE_WAY);
  expect(readdirSync(outside)).toEqual([]);
});

test('the folder for figures is not left through a link', async () => {
  await using action = new IPythonInterpreter({
    host,
    workDir: path.join(shared, 'out'),
    userDataDir: shared,
    userDataWritable: true,
  });
  await expect(action.run(SWAP(shared, outside))).rejects.toMatchObject(REFUSED);
  expect(readdirSync(outside)).toEqual([]);
});

test('the folder of a record is not left through a link', async () => {
  const root = path.join(shared, 'out', 'records');
  const folder = await RecordFolder.create(root, 'name', new Date());
  await host.runOnce(SWAP(shared, outside), { mounts: mounts() });
  mkdirSync(path.join(outside, 'records', folder.relative, 'files'), { recursive: true });
  await expect(folder.write('results.json', 'x')).rejects.toThrow(/should be a directory but is a link/);
  await expect(folder.writeBelow('files', 'a/b', 'x')).rejects.toThrow(/should be a directory but is a link/);
  expect(() => folder.removeAll('files')).toThrow(/should be a directory but is a link/);
  expect(readdirSync(path.join(outside, 'records', folder.relative))).toEqual(['files']);
});

/** Everything that the trusted side does with the files of a session. */
import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Execution } from '../../../src/execution/execution.ts';
import type { Host } from '../../../src/host/host.ts';
import type { Session } from '../../../src/host/session.ts';
import { removeTree } from '../../../src/engine/local/instance/removals.ts';
import { OutputFolder } from '../../../src/cli/session/output-folder.ts';
import { saveFigures } from '../../../src/service/records/figures.ts';
import { saveFiles } from '../../../src/service/records/files.ts';
import { RecordFolder } from '../../../src/service/records/folder.ts';
import { ArtifactFolder } from '../../../src/tool/code-interpreter/artifact-folder.ts';
import type { Generator } from '../../support/generated.ts';
import type { Inspector } from './inspector.ts';

/** A tree, and what is at hand to deal with it. */
export interface Scene {
  readonly host: Host;
  readonly session: Session;
  /** The run that made the tree. */
  readonly execution: Execution;
  readonly chance: Generator;
  readonly inspector: Inspector;
  /** A directory of the host's that no session reaches. */
  readonly scratch: string;
}

const MOST_FILES = 12;
/** Paths that the trees use, and ways out that no tree has. */
const PATHS = [
  'a',
  'b',
  'c.txt',
  'f1',
  '.output',
  '.output/run-1.stdout.txt',
  'output/x',
  'upload.txt',
  'up/load',
  'f2/f3/f4',
  'plot.png',
  '__proto__',
  '.git/config',
  '..',
  '../tmp/x',
  '/etc/passwd',
  'a/../../x',
  'n'.repeat(255),
  '.',
  '',
  'a/secret.txt',
  'b/decoy/a',
  'f1/inner/file.txt',
  'x\u0000y',
  'x\ny',
  '\ud800',
  `${'d/'.repeat(3000)}x`,
  '.upload-0123456789abcdef',
  'data.csv/upload.txt',
  'f5/upload.txt',
];

/** Each is one thing that a caller may do. */
export const OPERATIONS: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  list,
  async download(scene) {
    const { files } = await scene.session.files.list();
    const found = files.slice(0, MOST_FILES).map((file) => file.path);
    for (const name of [...found, scene.chance.pick(PATHS), scene.chance.pick(PATHS)]) await download(scene, name);
  },
  async upload(scene) {
    const { files } = await scene.session.files.list();
    const known = files.length > 0 ? scene.chance.pick(files).path : 'new.txt';
    for (const name of [scene.chance.pick(PATHS), scene.chance.pick(PATHS), known, `${known}/below`])
      await refusable(scene.inspector, `uploading ${name}`, () =>
        scene.session.files.upload(name, 'uploaded by the host\n'),
      );
  },
  async remove(scene) {
    const { files, skipped } = await scene.session.files.list();
    const found = [...files, ...skipped].map((file) => file.path);
    const names = [scene.chance.pick(PATHS), ...(found.length > 0 ? [scene.chance.pick(found)] : [])];
    for (const name of names)
      await refusable(scene.inspector, `removing ${name}`, () => scene.session.files.remove(name));
  },
  async artifacts({ host, session, execution, inspector }) {
    for (const { id, path: name, sizeBytes } of kept(execution))
      await refusable(inspector, `opening ${name}`, async () => {
        const content = await buffer(await host.artifacts.open(id));
        inspector.bytes('an artifact', content);
        if (content.length !== sizeBytes) inspector.report(name, `has ${content.length}, not ${sizeBytes} bytes`);
        const { sha256 } = await host.artifacts.get(id);
        if (createHash('sha256').update(content).digest('hex') !== sha256) inspector.report(name, 'has another hash');
      });
    for (const { id } of await host.artifacts.list({ sessionId: session.id })) await host.artifacts.remove(id);
  },
  async rollback({ session }) {
    await session.rollback();
  },
  async reset({ session }) {
    await session.reset();
  },
  async crash({ session, inspector }) {
    inspector.text('a crash', JSON.stringify(await session.runCode('import os; os._exit(3)')));
    inspector.text('the run after a crash', JSON.stringify(await session.runCode('1 + 1')));
  },
  async 'change and go back'({ session, inspector }) {
    const program =
      'import os\nfor n in os.listdir("."):\n    try: os.rename(n, n + "~")\n    except OSError: pass\nv = 1';
    inspector.text('another run', JSON.stringify(await session.runCode(program)));
    await session.rollback();
    inspector.text('the run after a rollback', JSON.stringify(await session.runCode('1 + 1')));
  },
  async 'an output folder'(scene) {
    await inFolder(scene, 'the output folder', async (directory) => {
      const { host, inspector, execution } = scene;
      const report = async (words: string): Promise<void> => inspector.text('the output folder', words);
      const overwrites = scene.chance.number(2) === 0;
      await new OutputFolder({ directory, overwrites, artifacts: host.artifacts, report }).addAll(execution);
    });
  },
  async 'the folder of a tool'(scene) {
    await inFolder(scene, 'the folder of a tool', async (directory) => {
      const folder = await new ArtifactFolder(directory).beginRun();
      for (const { id, path: name, sizeBytes } of kept(scene.execution))
        await refusable(scene.inspector, `copying ${name}`, async () =>
          folder.add(name, await scene.host.artifacts.open(id), sizeBytes),
        );
    });
  },
  async 'a record of the service'(scene) {
    await inFolder(scene, 'a record', async (directory) => {
      const folder = await RecordFolder.create(directory, 'fuzz', new Date());
      const open = (id: string): ReturnType<Host['artifacts']['open']> => scene.host.artifacts.open(id);
      for (const { errors } of [
        await saveFigures(folder, scene.execution, open),
        await saveFiles(folder, scene.execution, open),
      ])
        scene.inspector.text('a record', errors.join('\n'));
    });
  },
  async notebook({ session, inspector }) {
    inspector.bytes('a notebook', Buffer.from(JSON.stringify(await session.exportNotebook())));
  },
  async table({ session, host, inspector }) {
    await session.runCode('import pandas as pd; table = pd.DataFrame({"a": [1, 2]})');
    const { id } = await session.exportTable('table', { format: 'csv' });
    const content = String(await buffer(await host.artifacts.open(id)));
    if (!/^,?a\n/.test(content)) inspector.report('a table', JSON.stringify(content.slice(0, 200)));
  },
  async variables({ session, inspector }) {
    inspector.bytes('the variables', Buffer.from(JSON.stringify(await session.inspect())));
  },
};

async function list({ session, inspector }: Scene): Promise<void> {
  const { files, skipped } = await session.files.list();
  for (const { path: name, modifiedAt } of files) {
    inspector.text('a listed name', name);
    if (Number.isNaN(modifiedAt.getTime())) inspector.report('a listed file', 'was changed at no time at all');
  }
  for (const { path: name } of skipped) inspector.text('a name that is left out', name);
}

async function download(scene: Scene, name: string): Promise<void> {
  await refusable(scene.inspector, `downloading ${name}`, async () => {
    scene.inspector.bytes(`downloading ${name}`, await buffer(await scene.session.files.download(name)));
  });
}

/** One step of several. What is refused there does not end the others. */
async function refusable(inspector: Inspector, what: string, work: () => Promise<unknown>): Promise<void> {
  await inspector.attempt(JSON.stringify(what.slice(0, 300)), work);
}

/** Has something copied to a new directory, looks at what came there, and removes it. */
async function inFolder(
  { scratch, inspector }: Scene,
  what: string,
  copy: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(path.join(scratch, 'copies-'));
  try {
    await copy(directory);
    await inspector.copies(what, directory);
  } finally {
    await removeTree(directory);
  }
}

function kept({ files }: Execution): { readonly id: string; readonly path: string; readonly sizeBytes: number }[] {
  return files.flatMap(({ id, path: name, sizeBytes }) => (id === undefined ? [] : [{ id, path: name, sizeBytes }]));
}

/** Files that the user gives to a command, and files that it hands over. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ArtifactStore } from '../../src/artifact/store.ts';
import { OutputFolder } from '../../src/cli/session/output-folder.ts';
import { namedFiles, readGiven } from '../../src/cli/session/user-files.ts';
import type { Execution, ProducedFile } from '../../src/execution/execution.ts';
import { CommandContext } from '../support/command-context.ts';

async function scratch(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-files-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

describe('Files for a session', () => {
  test('keep their names and are found by absolute paths, in order', async () => {
    const directory = await scratch();
    await mkdir(path.join(directory, 'deep'));
    await writeFile(path.join(directory, 'deep', 'b.csv'), '1');
    await writeFile(path.join(directory, 'a b.csv'), '2');
    const relative = path.relative(process.cwd(), path.join(directory, 'a b.csv'));
    expect([...(await namedFiles([path.join(directory, 'deep/../deep/b.csv'), relative]))]).toEqual([
      ['b.csv', path.join(directory, 'deep/b.csv')],
      ['a b.csv', path.join(directory, 'a b.csv')],
    ]);
    expect(await namedFiles([])).toEqual(new Map());
  });

  test('may be links, and get the name of the link', async () => {
    const directory = await scratch();
    await writeFile(path.join(directory, 'real.csv'), '1');
    await symlink('real.csv', path.join(directory, 'link.csv'));
    expect([...(await namedFiles([path.join(directory, 'link.csv')])).keys()]).toEqual(['link.csv']);
  });

  test('must have different names', async () => {
    const directory = await scratch();
    await mkdir(path.join(directory, 'deep'));
    const files = [path.join(directory, 'a.csv'), path.join(directory, 'deep/a.csv')];
    for (const file of files) await writeFile(file, '1');
    await expect(namedFiles(files)).rejects.toMatchObject({
      code: 'USAGE',
      message: 'Two files would be a.csv in the session. Give one of them another name: --file PATH=NAME.',
    });
  });

  test('get another name after "=", unless the path itself contains it', async () => {
    const directory = await scratch();
    const [plain, odd] = [path.join(directory, 'a.csv'), path.join(directory, 'b=c.csv')];
    for (const file of [plain, odd]) await writeFile(file, '1');
    expect([...(await namedFiles([`${plain}=in/x.csv`, odd, `${odd}=./y.csv`, `${plain}=z.csv`]))]).toEqual([
      ['in/x.csv', plain],
      ['b=c.csv', odd],
      ['y.csv', odd],
      ['z.csv', plain],
    ]);
    expect([...(await namedFiles([plain, plain])).keys()]).toEqual(['a.csv']);
    for (const name of ['', '../a.csv', '/etc/a.csv', 'a\u001b.csv', '.']) {
      await expect(namedFiles([`${plain}=${name}`])).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringContaining('cannot be a name in the session') as string,
      });
    }
  });

  test('of a directory keep their places in it, and links to files are followed', async () => {
    const directory = await scratch();
    await mkdir(path.join(directory, 'data/deep'), { recursive: true });
    await writeFile(path.join(directory, 'data/deep/b.csv'), '1');
    await writeFile(path.join(directory, 'data/a.csv'), '1');
    await symlink('a.csv', path.join(directory, 'data/link.csv'));
    const given = path.join(directory, 'data/');
    expect([...(await namedFiles([given])).keys()]).toEqual(['data/a.csv', 'data/deep/b.csv', 'data/link.csv']);
    expect([...(await namedFiles([`${given}=in/`])).keys()]).toContain('in/deep/b.csv');
    await symlink('..', path.join(directory, 'data/deep/loop'));
    await expect(namedFiles([given])).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('loop, which is a link to a directory. Give its files by name.') as string,
    });
  });

  test('are not too many: a mount shows them without a copy', async () => {
    const directory = await scratch();
    for (let index = 0; index <= 500; index += 1) await writeFile(path.join(directory, `${index}`), '');
    await expect(namedFiles([directory])).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(/^--file names more than 500 files\. .*--mount/) as string,
    });
  });

  test('must exist, and be files or directories', async () => {
    const directory = await scratch();
    const missing = path.join(directory, 'none.csv');
    await expect(namedFiles([missing])).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(`^Cannot read --file ${missing}: ENOENT.*Check the path\\.$`) as string,
      cause: { code: 'ENOENT' },
    });
    await expect(namedFiles([directory], { takesDirectories: false })).rejects.toMatchObject({
      code: 'USAGE',
      message: `--file ${directory} is not a file. Give each file with a --file of its own.`,
    });
    await expect(namedFiles(['/dev/null'])).rejects.toMatchObject({
      code: 'USAGE',
      message: '--file /dev/null is neither a file nor a directory. Give one of these.',
    });
  });
});

describe('Text for an option', () => {
  test('comes from a file, or from standard input for -', async () => {
    const file = path.join(await scratch(), 'code.py');
    await writeFile(file, 'print("é")\n');
    const context = new CommandContext({ input: 'from standard input' });
    expect(await readGiven('--code', file, context)).toBe('print("é")\n');
    expect(await readGiven('--code', '-', context)).toBe('from standard input');
  });

  test('that cannot be read is refused with the name of the option', async () => {
    const directory = await scratch();
    for (const file of [directory, path.join(directory, 'none.py')]) {
      await expect(readGiven('--context', file, new CommandContext())).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringContaining(`Cannot read --context ${file}: E`) as string,
      });
    }
  });
});

/** A store with contents, and a folder that gets copies of them. */
class Delivery {
  readonly said: string[] = [];
  readonly target: string;
  readonly folder: OutputFolder;
  readonly #store: ArtifactStore;

  private constructor(directory: string) {
    this.target = path.join(directory, 'out');
    this.#store = new ArtifactStore(path.join(directory, 'store'));
    this.folder = this.again();
    onTestFinished(() => this.#store.close());
  }

  /** The folder of another command. */
  again({ overwrites = false } = {}): OutputFolder {
    return new OutputFolder({
      directory: this.target,
      overwrites,
      artifacts: this.#store,
      report: async (words) => void this.said.push(words.replace(this.target, 'OUT')),
    });
  }

  static async begin(): Promise<Delivery> {
    return new Delivery(await scratch());
  }

  async keep(content: string): Promise<{ readonly id: string; readonly sizeBytes: number }> {
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from(content);
    };
    const facts = { name: 'kept', sessionId: 's', executionId: 'e' };
    return this.#store.writerFor(null).keep({ chunks }, facts);
  }

  async file(name: string, content: string): Promise<ProducedFile> {
    const { id, sizeBytes } = await this.keep(content);
    return { path: name, id, sizeBytes, mime: 'text/plain', change: 'created' };
  }

  read(name: string): Promise<string> {
    return readFile(path.join(this.target, name), 'utf8');
  }
}

function execution(parts: Partial<Execution>): Execution {
  return { results: [], figures: [], files: [], ...parts } as Execution;
}

const PNG = Buffer.from('\u0089PNG').toString('base64');
const PICTURE = { kind: 'figure', data: { 'text/plain': 'Figure', 'image/png': PNG } } as const;

describe('The output folder', () => {
  test('is not made for a run that produced nothing', async () => {
    const delivery = await Delivery.begin();
    await delivery.folder.addAll(execution({}));
    expect([existsSync(delivery.target), delivery.said]).toEqual([false, []]);
  });

  test('gets pictures, files and long outputs, in this order, and says where they are', async () => {
    const delivery = await Delivery.begin();
    await delivery.folder.addAll(
      execution({
        results: [PICTURE],
        figures: [{ result: 0, mime: 'image/png', sizeBytes: 5 }],
        files: [await delivery.file('deep/report.csv', 'a,b\n')],
        spills: { stdout: await delivery.keep('long'), stderr: await delivery.keep('longer') },
      }),
    );
    expect(delivery.said).toEqual([
      'picture: OUT/figure-1.png',
      'file: OUT/deep/report.csv',
      'output: OUT/output/stdout.txt',
      'output: OUT/output/stderr.txt',
    ]);
    expect(await delivery.read('figure-1.png')).toBe('\u0089PNG');
    expect(await delivery.read('deep/report.csv')).toBe('a,b\n');
    expect(await delivery.read('output/stderr.txt')).toBe('longer');
    expect((await stat(delivery.target)).mode & 0o777).toBe(0o700);
  });

  test('is a new one if something is in the given one, unless files may be replaced', async () => {
    const delivery = await Delivery.begin();
    const existing = path.join(delivery.target, 'a.txt');
    await mkdir(delivery.target);
    await writeFile(existing, 'precious');
    for (const content of ['first', 'second']) {
      const files = [await delivery.file('a.txt', content)];
      await delivery.again().addFiles(execution({ files }));
    }
    expect([await delivery.read('vivarium-1/a.txt'), await delivery.read('vivarium-2/a.txt')]).toEqual([
      'first',
      'second',
    ]);
    expect(await delivery.read('a.txt')).toBe('precious');
    await delivery.again({ overwrites: true }).addFiles(execution({ files: [await delivery.file('a.txt', 'new')] }));
    expect(await delivery.read('a.txt')).toBe('new');
  });

  test('gets what a later run made of a file that it already has', async () => {
    const delivery = await Delivery.begin();
    for (const content of ['first', 'second']) {
      await delivery.folder.addFiles(execution({ files: [await delivery.file('a.txt', content)] }));
    }
    expect([await readdir(delivery.target), await delivery.read('a.txt')]).toEqual([['a.txt'], 'second']);
  });

  test.for(['.envrc', '.git/config', 'deep/.git/config', 'deep/.profile', '...'])(
    'does not get %j, which is hidden',
    async (name) => {
      for (const overwrites of [false, true]) {
        const delivery = await Delivery.begin();
        const files = [await delivery.file(name, 'evil'), await delivery.file('good.txt', 'good')];
        await delivery.again({ overwrites }).addFiles(execution({ files }));
        expect(delivery.said[0]).toContain('is hidden');
        expect(await readdir(delivery.target)).toEqual(['good.txt']);
      }
    },
  );

  test.for(['../escape.txt', '/etc/escape.txt', 'a/../../escape.txt', '..', '', 'nul\0.txt', `${'x'.repeat(300)}.txt`])(
    'refuses the hostile name %j and still copies the other files',
    async (name) => {
      const delivery = await Delivery.begin();
      const files = [await delivery.file(name, 'evil'), await delivery.file('good.txt', 'good')];
      await delivery.folder.addFiles(execution({ files }));
      expect(delivery.said[0]).toContain(`file ${name} is not kept: `);
      expect(delivery.said[1]).toBe('file: OUT/good.txt');
      expect(await readdir(delivery.target)).toEqual(['good.txt']);
      expect(await readdir(path.dirname(delivery.target))).toEqual(['out', 'store']);
    },
  );

  test('does not follow links out of the folder', async () => {
    const delivery = await Delivery.begin();
    const outside = await scratch();
    await mkdir(delivery.target);
    await symlink(outside, path.join(delivery.target, 'link'));
    await writeFile(path.join(outside, 'precious.txt'), 'precious');
    await symlink(path.join(outside, 'precious.txt'), path.join(delivery.target, 'to-file'));
    const files = [await delivery.file('link/evil.txt', 'evil'), await delivery.file('to-file', 'evil')];
    await delivery.again({ overwrites: true }).addFiles(execution({ files }));
    expect(delivery.said[0]).toContain('file link/evil.txt is not kept: ');
    expect(await readdir(outside)).toEqual(['precious.txt']);
    expect(await readFile(path.join(outside, 'precious.txt'), 'utf8')).toBe('precious');
  });

  test('says why a file has no copy', async () => {
    const delivery = await Delivery.begin();
    const gone: ProducedFile = { path: 'big.bin', sizeBytes: 9, mime: 'x/y', change: 'created' };
    const removed: ProducedFile = { ...gone, path: 'old.txt', id: '00000000-0000-4000-8000-000000000000' };
    const files = [gone, { ...gone, notKept: 'larger than 8 bytes' }, removed];
    await delivery.folder.addFiles(execution({ files }));
    expect(delivery.said.slice(0, 2)).toEqual([
      'big.bin is not kept: no reason given',
      'big.bin is not kept: larger than 8 bytes',
    ]);
    expect(delivery.said[2]).toContain('file old.txt is not kept: ');
  });

  test('numbers pictures over all runs, and avoids names that the program used', async () => {
    const delivery = await Delivery.begin();
    const figures = [
      { result: 0, mime: 'image/png', sizeBytes: 5 },
      { result: 0, mime: 'image/png', sizeBytes: 5 },
    ];
    await delivery.folder.addPictures(execution({ results: [PICTURE], figures }));
    const files = [await delivery.file('figure-3.png', 'its own'), await delivery.file('figure-4.png', 'its own')];
    await delivery.folder.addPictures(execution({ results: [PICTURE], figures, files }));
    expect(delivery.said.map((words) => path.basename(words))).toEqual([
      'figure-1.png',
      'figure-2.png',
      'figure-5.png',
      'figure-6.png',
    ]);
  });

  test('shows every picture first, and copies one that the program saved only as a file', async () => {
    const delivery = await Delivery.begin();
    const shown: (string | undefined)[] = [];
    const figures = [
      { result: 0, mime: 'image/png', sizeBytes: 5, path: 'saved.png' },
      { result: 0, mime: 'image/png', sizeBytes: 5 },
      { mime: 'image/png', sizeBytes: 5, notKept: 'too large' },
    ];
    await delivery.folder.addPictures(execution({ results: [PICTURE], figures }), async ({ figure }) => {
      shown.push(figure.path);
    });
    expect(shown).toEqual(['saved.png', undefined]);
    expect(delivery.said).toEqual(['picture: OUT/figure-1.png']);
  });

  test('fails if the folder itself cannot be made', async () => {
    const delivery = await Delivery.begin();
    await writeFile(delivery.target, 'a file is in the way');
    const files = [await delivery.file('a.txt', 'a')];
    await expect(delivery.folder.addFiles(execution({ files }))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});

/** Packages that want more than to be a package, and indexes that offer what another one has. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host, type HostOptions, type Session } from '../../../src/index.ts';
import { startIndex, type IndexedFile, type IndexServer } from '../../support/packages/index-server.ts';
import { makeDataDir } from '../../support/packages/scene.ts';
import { makeWheel } from '../../support/packages/wheel.ts';
import { said } from '../../support/said.ts';

let settings: HostOptions & { readonly dataDir: string };
const ends: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  const { dataDir, python, remove } = await makeDataDir();
  ends.push(remove);
  settings = { dataDir, python, preload: [], poolSize: 0, packages: 'any' };
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

async function index(packages: Readonly<Record<string, readonly IndexedFile[]>>): Promise<IndexServer> {
  const server = await startIndex(packages);
  onTestFinished(() => server.close());
  return server;
}

async function open(packageIndexes: readonly string[]): Promise<{ host: Host; session: Session }> {
  const host = await createHost({ ...settings, packageIndexes });
  onTestFinished(() => host.close());
  return { host, session: await host.createSession() };
}

/** Everything in the data directory that is neither a session nor part of the cache of packages. */
function surroundings(): string[] {
  const walk = (directory: string): string[] =>
    readdirSync(directory).flatMap((name) => {
      const file = path.join(directory, name);
      const stats = lstatSync(file);
      return stats.isDirectory() ? walk(file) : [`${file} ${stats.mode} ${stats.size}`];
    });
  const own = readdirSync(settings.dataDir).filter((name) => name !== 'sessions' && name !== 'packages');
  return own.flatMap((name) => walk(path.join(settings.dataDir, name))).filter((line) => !line.includes('/cache/'));
}

test('a wheel with paths, links and start-up files of its own changes nothing but the packages of its session', async () => {
  const evil = 'open("/workspace/pwned", "w").write("x")\n';
  const start = {
    'evil.pth': `import os; ${evil}`,
    'sitecustomize.py': evil,
    'json.py': evil,
    '_vivarium/__init__.py': evil,
  };
  const outside = {
    'start_up-1.0.data/data/etc/evil': 'x',
    'start_up-1.0.data/scripts/python3': '#!/bin/sh\necho pwned\n',
  };
  const { url } = await index({
    'start-up': [makeWheel({ name: 'start-up', files: { 'start_up.py': 'ok = True\n', ...start, ...outside } })],
    traversal: [makeWheel({ name: 'traversal', files: { '../../../../tmp/pwned': 'x', 'traversal.py': '' } })],
    linked: [makeWheel({ name: 'linked', files: { 'linked.py': '/etc/passwd' }, modes: { 'linked.py': 0o120777 } })],
    impostor: [
      { ...makeWheel({ name: 'other', files: { 'other.py': '' } }), filename: 'impostor-1.0-py3-none-any.whl' },
    ],
  });
  const { session } = await open([url]);
  const before = surroundings();
  await session.install(['start-up']);
  const shell = '!python3 -c "import json, start_up; print(start_up.ok, json.__file__.startswith(\'/.packages\'))"';
  expect(said(await session.runCode(shell))).toBe('True False');
  expect(
    said(await session.runCode('import os; print(os.path.exists("pwned"), sorted(os.listdir("/.packages/site")))')),
  ).toBe("False ['start_up-1.0.dist-info', 'start_up.py']");
  await expect(session.install(['traversal'])).rejects.toThrow(/wheel of "traversal" was refused: .*leads outside/u);
  await expect(session.install(['linked'])).rejects.toThrow(
    /wheel of "linked" was refused: .*a link or a special file/u,
  );
  await expect(session.install(['impostor'])).rejects.toThrow(/impostor/u);
  expect(surroundings()).toEqual(before);
  expect(said(await session.runCode('print(sorted(os.listdir("/.packages/site")))'))).not.toMatch(
    /traversal|linked|other/u,
  );
});

test('a wheel that is not the one of the index is refused', async () => {
  const wheel = makeWheel({ name: 'swapped', files: { 'swapped.py': '' } });
  const { url } = await index({ swapped: [{ ...wheel, sha256: '0'.repeat(64) }] });
  const { session } = await open([url]);
  await expect(session.install(['swapped'])).rejects.toThrow(/swapped/u);
  expect((await session.runCode('import swapped')).outcome.status).toBe('raised');
});

test('the first index that has a name decides, whatever versions others offer', async () => {
  const version = (number: string): IndexedFile[] => [
    makeWheel({ name: 'inner', version: number, files: { 'inner.py': `version = "${number}"\n` } }),
  ];
  const own = await index({ inner: version('1.0') });
  const foreign = await index({
    inner: version('99.0'),
    public: [makeWheel({ name: 'public', files: { 'public.py': '' } })],
  });
  const { session } = await open([own.url, foreign.url]);
  const { installed } = await session.install(['inner', 'public']);
  expect(installed.map(({ name, version: of, url }) => [name, of, new URL(url).host])).toEqual([
    ['inner', '1.0', new URL(own.url).host],
    ['public', '1.0', new URL(foreign.url).host],
  ]);
});

test('what fetches packages reaches the index and nothing else', async () => {
  const other = await startIndex({ lured: [makeWheel({ name: 'lured', files: { 'lured.py': '' } })] });
  onTestFinished(() => other.close());
  const page = Buffer.from('');
  const lure = {
    filename: 'lured-1.0-py3-none-any.whl',
    content: page,
    href: `${other.url.replace('/simple', '')}/files/lured-1.0-py3-none-any.whl`,
  };
  const { url } = await index({ lured: [lure] });
  const { session } = await open([url]);
  await expect(session.install(['lured'])).rejects.toThrow(/127\.0\.0\.1/u);
  expect(other.asked).toEqual([]);
});

test('files in the cache cannot be written', async () => {
  const { url } = await index({ cached: [makeWheel({ name: 'cached', files: { 'cached.py': 'x = 1\n' } })] });
  const { session } = await open([url]);
  const { installed } = await session.install(['cached']);
  const file = path.join(settings.dataDir, 'packages', 'wheels', installed[0]?.sha256 ?? '', 'cached.py');
  expect(lstatSync(file).mode & 0o222).toBe(0);
  expect(readFileSync(file, 'utf8')).toBe('x = 1\n');
});

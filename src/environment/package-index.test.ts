import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readPackageIndex } from './package-index.ts';

async function home(config: string): Promise<NodeJS.ProcessEnv> {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-test-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await mkdir(path.join(directory, '.config/pip'), { recursive: true });
  await writeFile(path.join(directory, '.config/pip/pip.conf'), config);
  await writeFile(path.join(directory, 'ca.pem'), 'certificate');
  return { HOME: directory, XDG_CONFIG_DIRS: directory };
}

test('the index and the certificate are those of the files that pip reads', async () => {
  const env = await home(
    '# ours\n[global]\nindex_url = https://mirror.example/simple\ncert =\n[install]\ntimeout = 9\n',
  );
  const index = await readPackageIndex(undefined, { ...env, PIP_CERT: path.join(env['HOME'] ?? '', 'ca.pem') });
  expect(index).toMatchObject({ urls: ['https://mirror.example/simple'], directories: [], unused: null });
  expect(Buffer.from(index.certificates ?? []).toString()).toBe('certificate');
});

test('a variable wins over files, and an option over both', async () => {
  const env = { ...(await home('[global]\nindex-url = https://a.example\n')), PIP_INDEX_URL: 'https://b.example' };
  expect((await readPackageIndex(undefined, env)).urls).toEqual(['https://b.example']);
  expect((await readPackageIndex(['https://c.example', 'https://d.example'], env)).urls).toHaveLength(2);
});

test('further indexes are not mixed in, and that is told', async () => {
  const env = await home('[global]\nextra-index-url =\n    https://a.example\n    https://b.example\n');
  const { urls, unused } = await readPackageIndex(undefined, env);
  expect(urls).toHaveLength(1);
  expect(unused).toContain('`packageIndexes`');
});

test('without an index, the directories with wheels are used', async () => {
  const env = { ...(await home('')), PIP_NO_INDEX: '1', PIP_FIND_LINKS: '/wheels file:///more https://x.example' };
  expect(await readPackageIndex(undefined, env)).toMatchObject({ urls: [], directories: ['/wheels', '/more'] });
});

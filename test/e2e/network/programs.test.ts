/** git and pip in a session whose network is a list. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { said } from '../../support/said.ts';
import { INSTALL_TIMEOUT_MS, installClients, openScene } from './client-scene.ts';

let python = '';
beforeAll(async () => {
  python = await installClients();
}, INSTALL_TIMEOUT_MS);

test('git clones from the listed host, and fails elsewhere', async () => {
  const directory = scratch();
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: directory, stdio: 'pipe' });
  git('init', '--quiet', 'source');
  writeFileSync(path.join(directory, 'source/file.txt'), 'content of the file');
  git('-C', 'source', 'add', '.');
  git('-C', 'source', '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'first');
  git('clone', '--quiet', '--bare', 'source', 'bare');
  git('-C', 'bare', 'update-server-info');
  const { session, https } = await openScene(python, serveFiles(directory));
  const clone = (url: string, to: string): string =>
    `import subprocess; print(subprocess.run(["git", "clone", "--quiet", "${url}", "${to}"], capture_output=True, text=True))`;
  expect(said(await session.runCode(clone(`https://api.test:${https.port}/bare`, 'one')))).toContain('returncode=0');
  expect(said(await session.runCode('print(open("one/file.txt").read())'))).toBe('content of the file');
  const refused = await session.runCode(clone('https://evil.test/bare', 'other'));
  expect(said(refused)).toMatch(/403|CONNECT/u);
  expect(refused.network).toMatchObject([{ host: 'evil.test', decision: 'refused' }]);
});

test('pip installs from an index on the listed host', async () => {
  const directory = scratch();
  execFileSync(python, ['-c', WHEEL], { cwd: directory });
  const { session, https } = await openScene(python, serveFiles(directory));
  const { outcome, logs, network } = await session.runCode(`
import subprocess, sys
done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir",
    "--index-url", "https://api.test:${https.port}/simple", "--target", "/tmp/packages", "tiny"], capture_output=True, text=True)
print(done)
sys.path.append("/tmp/packages")
import tiny
print(tiny.ANSWER)`);
  expect(`${outcome.status} ${logs.stdout}`).toMatch(/^succeeded .*42\n$/su);
  expect(network?.every(({ decision }) => decision === 'allowed')).toBe(true);
});

const WHEEL = `
import os, zipfile
os.makedirs("simple/tiny")
name = "tiny-1.0-py3-none-any.whl"
with zipfile.ZipFile(f"simple/tiny/{name}", "w") as wheel:
    wheel.writestr("tiny.py", "ANSWER = 42")
    wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\\ntiny-1.0.dist-info/METADATA,,\\ntiny-1.0.dist-info/WHEEL,,\\ntiny-1.0.dist-info/RECORD,,\\n")
open("simple/tiny/index.html", "w").write(f'<a href="{name}">{name}</a>')
`;

function scratch(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'vivarium-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

function serveFiles(directory: string): RequestListener {
  return (request, response) => {
    const wanted = path.join(directory, new URL(request.url ?? '/', 'http://x').pathname);
    try {
      const isFolder = statSync(wanted).isDirectory();
      if (isFolder) response.setHeader('Content-Type', 'text/html');
      response.end(readFileSync(isFolder ? path.join(wanted, 'index.html') : wanted));
    } catch {
      response.writeHead(404).end();
    }
  };
}

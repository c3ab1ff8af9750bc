/** A host with a cache of its own and an index of this machine, for tests about packages. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import { ensureUv } from '../../../src/environment/uv.ts';
import { makeWheel, type Wheel } from './wheel.ts';

/** A data directory that has nothing but uv, which is copied from the usual one: it need not be fetched for each test. */
export async function makeDataDir(): Promise<{
  readonly dataDir: string;
  readonly python: string;
  readonly remove: () => void;
}> {
  const usual = defaultDataDir(process.env);
  const environment = await findEnvironment(usual);
  if (environment === undefined) throw new Error('there is no environment; run `npm run setup`');
  const { python } = environment;
  const uv = await ensureUv({ dataDir: usual, python });
  const dataDir = mkdtempSync(path.join(tmpdir(), 'vivarium-test-'));
  await chmod(dataDir, 0o755);
  copyFile(uv, path.join(dataDir, path.relative(usual, uv)));
  return { dataDir, python, remove: () => rmSync(dataDir, { recursive: true, force: true }) };
}

/** Gives another data directory the same uv. */
export function copyUv(from: string, to: string): void {
  const [version = ''] = readdirSync(path.join(from, 'uv'));
  const file = path.join('uv', version, 'bin', 'uv');
  copyFile(path.join(from, file), path.join(to, file));
}

function copyFile(source: string, target: string): void {
  mkdirSync(path.dirname(target), { recursive: true });
  copyFileSync(source, target);
}

/** A wheel for this machine alone, with an extension module that a Python came with. */
export function compiledWheel(python: string, name = 'compiled-demo'): Wheel {
  const code = `
import importlib.util, sys, sysconfig
for name in ("_queue", "_json", "_bisect", "_csv", "_zoneinfo", "_decimal"):
    origin = str((importlib.util.find_spec(name) or sys).__dict__.get("origin"))
    if origin.endswith(".so"): break
print(name, origin, f"cp{sys.version_info[0]}{sys.version_info[1]}", sysconfig.get_platform().replace("-", "_"))`;
  const [module = '', file = '', version = '', platform = ''] = execFileSync(python, ['-I', '-c', code], {
    encoding: 'utf8',
  })
    .trim()
    .split(' ');
  if (!existsSync(file)) throw new Error(`no extension module of ${python} can be used: ${file}`);
  const folder = name.replaceAll('-', '_');
  return makeWheel({
    name,
    tag: `${version}-${version}-${platform}`,
    files: {
      [`${folder}/__init__.py`]: `from ${folder} import ${module} as native\n`,
      [`${folder}/${path.basename(file)}`]: readFileSync(file),
    },
  });
}

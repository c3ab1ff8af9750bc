/** Asks pip which wheels a list of packages means, together with a locked set. Installs nothing. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import { canServeOthers, failed, noInstaller, type BuildTools } from '../build.ts';
import { run } from '../command.ts';
import type { PythonInventory } from '../inventory.ts';
import { pythonIn } from '../managed.ts';
import type { PinnedPackage } from './record.ts';

export interface ResolutionPlan {
  readonly base: PythonInventory;
  readonly packages: readonly string[];
  /** The lock of the set: what is in it keeps its version. */
  readonly locked: string;
  readonly tools: BuildTools;
}

/** The packages and what they need, without those that are in the set. */
export async function resolvePackages({ base, packages, locked, tools }: ResolutionPlan): Promise<PinnedPackage[]> {
  if (packages.length === 0) return [];
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-resolve-'));
  try {
    const inDirectory = (name: string): string => path.join(directory, name);
    const [constraints, report] = [inDirectory('constraints.txt'), inDirectory('report.json')];
    await writeFile(constraints, pinsIn(locked).join('\n'));
    tools.report(`choosing wheels for ${packages.join(', ')}`);
    const pip = await pipFor(base, inDirectory('venv'), tools);
    const { succeeded, errors } = await run(
      // A target of its own: pip must neither look at what this Python has, nor refuse because its system manages it.
      [...pip, ...DRY_RUN, '--target', inDirectory('target'), '--report', report, '-c', constraints, ...packages],
      { ...tools, cwd: directory },
    );
    if (!succeeded) throw failed('pip found no wheels for these packages', errors, ADVICE);
    const pins = pinnedIn(await readFile(report, 'utf8'));
    const inSet = new Set(pinsIn(locked).map((pin) => canonical(pin.replace(/==.*/, ''))));
    return pins.filter(({ name }) => !inSet.has(canonical(name)));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const DRY_RUN = [
  'install',
  '--dry-run',
  '--ignore-installed',
  '--only-binary=:all:',
  '--disable-pip-version-check',
  '--no-input',
  '--quiet',
];

const ADVICE =
  'Check the names and versions, that each has a wheel for this Python (source packages are not built), and that a package ' +
  'index is reachable; if they conflict with the set, use `--set core` or `--set none`';

/** `name==version` of each line of a lock. Without hashes, which would have to be given for every package. */
export function pinsIn(locked: string): string[] {
  return locked.match(/^[\w.-]+==[^\s;\\]+/gm) ?? [];
}

/** Names are compared as the index does. */
export function canonical(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}

/** The pip of the base, or that of an environment that is made for this. */
async function pipFor(base: PythonInventory, venv: string, { env, signal }: BuildTools): Promise<string[]> {
  if (canServeOthers(base.pipVersion)) return [base.python, '-I', '-m', 'pip'];
  if (!base.hasEnsurepip) throw noInstaller(base);
  const { succeeded, errors } = await run([base.base, '-I', '-m', 'venv', venv], { env, signal });
  if (!succeeded)
    throw failed('an environment for pip could not be made', errors, 'Check the disk for temporary files');
  return [pythonIn(venv), '-I', '-m', 'pip'];
}

interface ReportItem {
  readonly metadata?: { readonly name?: unknown; readonly version?: unknown };
  /** Older versions of pip have no `hashes`. */
  readonly download_info?: { readonly archive_info?: { readonly hashes?: { sha256?: string }; hash?: string } };
}

/** Reads pip's installation report. */
function pinnedIn(report: string): PinnedPackage[] {
  const { install = [] } = JSON.parse(report) as { readonly install?: readonly ReportItem[] };
  return install.map(({ metadata, download_info }) => {
    const { hashes, hash } = download_info?.archive_info ?? {};
    const name = String(metadata?.name);
    const version = String(metadata?.version);
    const sha256 = hashes?.sha256 ?? hash?.replace(/^sha256=/, '') ?? '';
    if (!/^[\w.-]+$/.test(name) || !/^[\w.!+-]+$/.test(version) || !/^[0-9a-f]{64}$/.test(sha256)) {
      throw new VivariumError(
        'SETUP_FAILED',
        `pip did not say which wheel of ${name} it chose, so it cannot be pinned. Use a newer pip.`,
      );
    }
    return { name: canonical(name), version, sha256 };
  });
}

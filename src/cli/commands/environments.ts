import { parseConfig } from '../../config.ts';
import {
  addEnvironment,
  rebuildEnvironment,
  removeEnvironment,
  type AddOptions,
  type ChangeOptions,
} from '../../environment/named/change.ts';
import { findEnvironment } from '../../environment/find.ts';
import { DEFAULT_NAME, listNamed, type NamedRecord } from '../../environment/named/record.ts';
import { VivariumError } from '../../errors.ts';
import { visibleJson } from '../../text/visible.ts';
import { dataDirOf, type MachineFlags } from '../session/flags.ts';
import type { Context } from '../terminal/context.ts';
import { alignColumns } from '../terminal/table.ts';

type DataFlags = Pick<MachineFlags, 'dataDir'>;

export interface AddFlags extends DataFlags {
  readonly set?: NamedRecord['set'];
  /** A minor version, or the path of a Python. */
  readonly python?: string;
}

/** Makes a named environment. */
export async function add(
  name: string,
  packages: readonly string[],
  flags: AddFlags,
  context: Context,
): Promise<number> {
  const { set, python } = flags;
  if (packages.length === 0 && set === 'none') {
    throw new VivariumError('USAGE', 'An environment with --set none needs packages. Name them after its name.');
  }
  const given: Pick<AddOptions, 'packages' | 'set' | 'python'> = { packages, set, python };
  return report(context, async (common) => addEnvironment({ ...common(name, flags), ...given }));
}

/** Builds a named environment again, from the same wheels. */
export async function rebuild(name: string, flags: DataFlags, context: Context): Promise<number> {
  return report(context, async (common) => rebuildEnvironment(common(name, flags)));
}

export async function remove(name: string, flags: DataFlags, context: Context): Promise<number> {
  await removeEnvironment(optionsOf(name, flags, context));
  await context.stderr.line(`removed the environment "${name}"`);
  return 0;
}

/** Prints what there is, the environment of set-up first. */
export async function list(flags: DataFlags & { readonly json?: boolean }, context: Context): Promise<number> {
  const { stdout, environment } = context;
  const dataDir = dataDirOf(flags, environment);
  const named = await listNamed(dataDir);
  if (flags.json === true) {
    const rows = named.map(({ record, python, isUsable }) => ({ ...record, python, isUsable }));
    await stdout.line(visibleJson(rows, 2));
    return 0;
  }
  const usual = await findEnvironment(dataDir);
  const rows = named.map(({ record, isUsable }) => [
    record.name,
    isUsable ? record.version : `${record.version} (gone; run \`vivarium environments rebuild ${record.name}\`)`,
    record.set,
    record.packages.map(({ name, version }) => `${name} ${version}`).join(', ') || '-',
  ]);
  const first = usual ? [[DEFAULT_NAME, usual.version, usual.set ?? '-', '-']] : [];
  await stdout.line(alignColumns([['NAME', 'PYTHON', 'SET', 'ADDED'], ...first, ...rows]));
  return 0;
}

type Common = (name: string, flags: DataFlags) => ChangeOptions;

/** Tells what is done as it is done, and what came of it. */
async function report(context: Context, make: (common: Common) => Promise<NamedRecord>): Promise<number> {
  const { stderr } = context;
  const startedAt = Date.now();
  const { name, version, packages } = await make((given, flags) => optionsOf(given, flags, context));
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  for (const pinned of packages) await stderr.line(`${pinned.name} ${pinned.version}`);
  await stderr.line(`the environment "${name}" is ready after ${seconds} s: Python ${version}`);
  return 0;
}

function optionsOf(name: string, flags: DataFlags, { environment, stderr, lifetime }: Context): ChangeOptions {
  const { dataDir } = parseConfig({ dataDir: dataDirOf(flags, environment) }, environment);
  const onProgress = (line: string): void => void stderr.line(line);
  return { dataDir, name, env: environment, signal: lifetime.signal, onProgress };
}

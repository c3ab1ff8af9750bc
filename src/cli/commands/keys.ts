import { parseConfig } from '../../config.ts';
import { KeyStore, type KeyRecord } from '../../server/access/keys.ts';
import type { Quotas } from '../../server/access/client.ts';
import { visibleJson } from '../../text/visible.ts';
import { dataDirOf, type MachineFlags } from '../session/flags.ts';
import type { Context } from '../terminal/context.ts';
import { alignColumns } from '../terminal/table.ts';

type DataFlags = Pick<MachineFlags, 'dataDir'>;

export interface AddKeyFlags extends DataFlags, Partial<Quotas> {
  readonly admin?: boolean;
}

/** Prints the key and nothing else to standard output, so that a script can take it from there. */
export async function add(name: string, flags: AddKeyFlags, context: Context): Promise<number> {
  const { dataDir: _, admin = false, ...quotas } = flags;
  using keys = await openKeys(flags, context);
  const { secret } = await keys.add({ name, role: admin ? 'admin' : 'client', ...quotas });
  await context.stderr.line(`made a key for "${name}"; it is not stored, so keep it now`);
  await context.stdout.line(secret);
  return 0;
}

export async function list(flags: DataFlags & { readonly json?: boolean }, context: Context): Promise<number> {
  const { stdout, stderr } = context;
  using keys = await openKeys(flags, context);
  const found = await keys.list();
  if (flags.json === true) await stdout.line(visibleJson(found, 2));
  else if (found.length === 0) await stderr.line('there are no keys; `vivarium keys add NAME` makes one');
  else await stdout.line(alignColumns([HEADINGS, ...found.map(rowOf)]));
  return 0;
}

export async function remove(name: string, flags: DataFlags, context: Context): Promise<number> {
  const { stderr } = context;
  using keys = await openKeys(flags, context);
  await keys.remove(name);
  await stderr.line(`removed the key of "${name}"`);
  if (await keys.isEmpty()) {
    await stderr.line(
      'it was the last one: a server that is started now serves every user of this machine without a key',
    );
  }
  return 0;
}

const HEADINGS = ['NAME', 'ROLE', 'CLIENT', 'SESSIONS', 'RUNS', 'REQUESTS/S', 'BURST', 'ADDED', 'LAST USED'];

function rowOf({ id, name, role, createdAt, usedAt, quotas }: KeyRecord): string[] {
  const { maxSessions, maxRuns, requestsPerSecond, burst } = quotas;
  const limits = [maxSessions, maxRuns, requestsPerSecond].map((most) => (most === null ? '-' : String(most)));
  const atOnce = requestsPerSecond === null ? '-' : String(burst);
  return [
    name,
    role,
    role === 'admin' ? '-' : id,
    ...limits,
    atOnce,
    minuteOf(createdAt),
    usedAt ? minuteOf(usedAt) : '-',
  ];
}

function minuteOf(date: Date): string {
  return date.toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);
}

async function openKeys(flags: DataFlags, { environment }: Context): Promise<KeyStore> {
  const { dataDir } = parseConfig({ dataDir: dataDirOf(flags, environment) }, environment);
  return KeyStore.open(dataDir);
}

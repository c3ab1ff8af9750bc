/** One of several competing processes: opens the storage, reports it, and tries everything at once on a line of input. */
import { once } from 'node:events';
import { VivariumError } from '../../../src/errors.ts';
import { openStorage, type Storage } from '../../../src/storage/storage.ts';

type Attempt = (storage: Storage, id: string, name: string) => Promise<string>;

const LEASE_MS = 60_000;

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  create: async ({ approvals }, id) => (await approvals.create({ ...ASKED, threadId: id })).id,
  decide: async ({ approvals }, id, name) => {
    const decision = name.endsWith('0') ? ({ type: 'reject' } as const) : ({ type: 'approve' } as const);
    return (await approvals.decide(id, decision, { by: name })).status;
  },
  claim: async ({ approvals }, id, name) => (await approvals.claimExecution(id, name, LEASE_MS)).status,
  expire: async ({ approvals }) => `expired ${(await approvals.expire()).length}`,
};

const ASKED = { requestId: 'r', attempt: 1, code: 'print(1)', requestedBy: 'test' };

const [place = '', what = '', id = '', times = '1'] = process.argv.slice(2);
const names = Array.from({ length: Number(times) }, (_, index) => `${process.pid}-${index}`);
const storage = what === 'open' ? undefined : await openStorage(place);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const tried = await Promise.allSettled(names.map((name) => (storage === undefined ? open() : attempt(storage, name))));
await storage?.close();
process.stdout.write(`${JSON.stringify(tried.map(answerOf))}\n`);
process.stdin.destroy();

async function open(): Promise<string> {
  await using opened = await openStorage(place);
  return `opened with ${(await opened.approvals.list()).length}`;
}

async function attempt(opened: Storage, name: string): Promise<string> {
  return (await ATTEMPTS[what]?.(opened, id, name)) ?? 'unknown attempt';
}

function answerOf(result: PromiseSettledResult<string>): string {
  if (result.status === 'fulfilled') return result.value;
  return result.reason instanceof VivariumError ? result.reason.code : String(result.reason);
}

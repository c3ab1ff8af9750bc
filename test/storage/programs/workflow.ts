/** A graph that requests approval before it runs code, in a process that can be killed and replaced at either point. */
import { appendFileSync } from 'node:fs';
import { Command, END, interrupt, START, StateGraph, StateSchema } from '@langchain/langgraph';
import { z } from 'zod';
import { openStorage } from '../../../src/storage/storage.ts';

const [place = '', phase = '', journal = ''] = process.argv.slice(2);
const storage = await openStorage(place);
const CONFIG = { configurable: { thread_id: 'thread' }, durability: 'sync' as const };

const State = new StateSchema({
  code: z.string().default(''),
  picture: z.instanceof(Uint8Array).optional(),
  result: z.string().optional(),
});
type State = typeof State.State;

async function ask({ code }: State): Promise<Command> {
  const { id } = await storage.approvals.create({
    threadId: 'thread',
    requestId: 'request',
    attempt: 1,
    code,
    requestedBy: 'agent',
    payload: { why: 'a test' },
  });
  if (phase === 'hang-before-interrupt') await hang('asked');
  interrupt({ id });
  return new Command({ goto: 'execute' });
}

async function execute({ picture }: State): Promise<Partial<State>> {
  const [approval] = await storage.approvals.list();
  if (approval === undefined) throw new Error('there is no approval');
  const claim = await storage.approvals.claimExecution(
    approval.id,
    `${process.pid}`,
    phase === 'hang-in-run' ? 0 : 60_000,
  );
  if (claim.status !== 'claimed') return { result: claim.status };
  appendFileSync(journal, `ran ${claim.code}\n`);
  if (phase === 'hang-in-run') await hang('running');
  await storage.approvals.finish(approval.id, `${process.pid}`, { status: 'succeeded' });
  return { result: `ran with ${picture?.join(',')}` };
}

const graph = new StateGraph(State)
  .addNode('generate', () => ({ code: 'print(1)', picture: Uint8Array.of(0, 255, 254, 1) }))
  .addNode('ask', ask, { ends: ['execute', END] })
  .addNode('execute', execute)
  .addEdge(START, 'generate')
  .addEdge('generate', 'ask')
  .addEdge('execute', END)
  .compile({ checkpointer: storage.checkpointer });

async function hang(word: string): Promise<never> {
  process.stdout.write(`${word}\n`);
  setInterval(() => undefined, 60_000);
  return new Promise(() => undefined);
}

const values: unknown = (await graph.getState(CONFIG)).values;
const isNew = Object.keys(values ?? {}).length === 0;
if (phase === 'hang-after-interrupt' || phase === 'hang-before-interrupt') {
  await graph.invoke(isNew ? {} : null, CONFIG);
  await hang('interrupted');
}
const [pending] = await storage.approvals.list({ status: 'pending' });
if (pending !== undefined) await storage.approvals.decide(pending.id, { type: 'approve' }, { by: 'reviewer' });
const resumed = await graph.invoke(phase === 'go-on' ? null : new Command({ resume: true }), CONFIG);
await storage.close();
process.stdout.write(`${(resumed as State).result}\n`);

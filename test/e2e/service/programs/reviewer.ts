/** A process with its own service: requests an approval and hangs, or decides an approval of another process. */
import { once } from 'node:events';
import { Annotation, Command, END, START, StateGraph } from '@langchain/langgraph';
import { handleServiceWithInterrupts, openStorage, startPythonExecutor } from '../../../../src/service.ts';
import { loadConfiguration } from '../../../../src/service/config/load.ts';
import { configured, EPICS, REQUEST, thread, WRITES } from '../laboratory-settings.ts';

interface Orders {
  readonly phase: 'ask' | 'ask-nested' | 'decide' | 'resume' | 'resume-nested';
  readonly place: string;
  readonly baseDir: string;
  /** Mounted as /data, where the code writes a line per run. */
  readonly mount: string;
  /** How many decisions to make concurrently. */
  readonly times?: number;
  /** The code never ends. */
  readonly endless?: boolean;
}

const orders = JSON.parse(process.argv[2] ?? '') as Orders;
const code = `${EPICS}_w('magnet', 1)
with open('/data/journal', 'a') as journal: print('ran', file=journal, flush=True)
${orders.endless ? 'while True: pass' : "results = {'answer': 1}"}`;

const storage = await openStorage(orders.place);
const config = configured({
  ...WRITES,
  framework: {
    execution: {
      code_generator: 'scripted',
      local: { mounts: [{ source: orders.mount, target: '/data', writable: true }] },
    },
  },
});
const service = await startPythonExecutor({
  config: await loadConfiguration({ text: JSON.stringify(config), environment: {} }),
  baseDir: orders.baseDir,
  storage,
  generators: { scripted: () => ({ generateCode: async () => code }) },
});

/** A user's graph, whose checkpoints also outlive its process. */
const graph = new StateGraph(Annotation.Root({ answer: Annotation<unknown>() }))
  .addNode('analysis', async () => {
    const result = await handleServiceWithInterrupts({ service, request: REQUEST, config: thread('t') });
    return { answer: result.executionResult.results['answer'] };
  })
  .addEdge(START, 'analysis')
  .addEdge('analysis', END)
  .compile({ checkpointer: storage.checkpointer });
const conversation = { configurable: { thread_id: 'conversation' }, durability: 'sync' as const };

const PHASES: Readonly<Record<Orders['phase'], () => Promise<void>>> = {
  ask: async () => {
    const { status } = await service.run(REQUEST, thread('t'));
    await hang(status);
  },
  'ask-nested': async () => {
    await graph.invoke({ answer: null }, conversation);
    await hang('awaiting-approval');
  },
  resume: async () => {
    const resumed = service.invoke(new Command({ resume: { approved: true } }), thread('t'));
    say(await resumed.then(({ executionResult }) => executionResult.results, String));
  },
  'resume-nested': async () => {
    const approve = new Command<unknown, Record<string, unknown>, never>({ resume: { approved: true } });
    say(await graph.invoke(approve, conversation));
  },
  decide: async () => {
    const [pending] = await service.approvals.list({ status: 'pending' });
    say({ code: pending?.code, payload: pending?.payload });
    await once(process.stdin, 'data');
    const tries = Array.from({ length: orders.times ?? 1 }, (_, index) =>
      service.decide(pending?.id ?? '', 'yes', { by: `${process.pid}-${index}` }),
    );
    const outcomes = await Promise.allSettled(tries);
    say(outcomes.map((one) => (one.status === 'fulfilled' ? one.value.status : codeOf(one.reason))));
  },
};

await PHASES[orders.phase]();
process.stdin.destroy();
await service.close();
await storage.close();

function codeOf(error: unknown): string {
  const { code: errorCode, name, message } = error as Error & { readonly code?: string };
  return errorCode ?? `${name}: ${message}`;
}

function say(what: unknown): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

async function hang(word: string): Promise<never> {
  say(word);
  setInterval(() => undefined, 60_000);
  return new Promise(() => undefined);
}

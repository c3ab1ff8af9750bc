import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons';
import type { Command } from '@langchain/langgraph';
import type { Progress } from './dependencies.ts';
import type { ServiceGraph } from './graph.ts';
import type { ServiceState } from './state.ts';

/** A graph and the thread to run it on. */
export interface GraphRun {
  readonly graph: ServiceGraph;
  readonly threadId: string;
  readonly recursionLimit: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs the graph until it ends or waits for an answer, and yields its progress. Pass null to continue where it stopped.
 * The graph always runs on its own: called from a node of another graph, it would otherwise use that graph's checkpoints,
 * and an interrupt would not return here.
 */
export async function* runGraph(
  input: ServiceState | Command | null,
  { graph, threadId, recursionLimit, signal }: GraphRun,
): AsyncGenerator<Progress, void, undefined> {
  const stop = new AbortController();
  const begun = outsideOtherGraphs(() =>
    graph.stream(input as ServiceState, {
      configurable: { thread_id: threadId },
      streamMode: 'custom',
      durability: 'sync',
      recursionLimit,
      signal: signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
    }),
  );
  const steps = (await begun)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await outsideOtherGraphs(() => steps.next());
      if (step.done === true) return;
      yield step.value as Progress;
    }
  } finally {
    stop.abort(new Error('the caller stopped reading the progress')); // a no-op when the graph has ended
    await outsideOtherGraphs(async () => steps.return?.());
  }
}

/** The state of a thread. A thread without a request has no `request` in its values. */
export async function stateOf({ graph, threadId }: Pick<GraphRun, 'graph' | 'threadId'>): Promise<{
  readonly values: Partial<ServiceState>;
  readonly isWaiting: boolean;
}> {
  const snapshot = await outsideOtherGraphs(() => graph.getState({ configurable: { thread_id: threadId } }));
  return {
    values: snapshot.values as Partial<ServiceState>,
    isWaiting: snapshot.tasks.some(({ interrupts }) => interrupts.length > 0),
  };
}

function outsideOtherGraphs<T>(work: () => T): T {
  return AsyncLocalStorageProviderSingleton.getInstance().run(undefined, work);
}

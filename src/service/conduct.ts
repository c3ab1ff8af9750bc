import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons';
import type { Command } from '@langchain/langgraph';
import type { ServiceGraph } from './graph/graph.ts';
import type { ServiceState } from './graph/state.ts';
import type { Progress } from './nodes/parts.ts';

export interface Conduct {
  readonly graph: ServiceGraph;
  readonly threadId: string;
  readonly recursionLimit: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs the graph until it ends or waits, and tells its progress; null goes on where it was left. It is always a graph of its own: called from a node of
 * another graph it would else take that one's checkpoints for its own, and an interrupt would not come back here.
 */
export async function* conduct(
  input: ServiceState | Command | null,
  { graph, threadId, recursionLimit, signal }: Conduct,
): AsyncGenerator<Progress, void, undefined> {
  const stop = new AbortController();
  const begun = apart(() =>
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
      const step = await apart(() => steps.next());
      if (step.done === true) return;
      yield step.value as Progress;
    }
  } finally {
    stop.abort(new Error('nobody listens any more')); // whoever leaves stops the work; at its end there is none
    await apart(async () => steps.return?.());
  }
}

/** The state of a thread; without `request` when there is none. */
export async function stateOf({ graph, threadId }: Pick<Conduct, 'graph' | 'threadId'>): Promise<{
  readonly values: Partial<ServiceState>;
  readonly isWaiting: boolean;
}> {
  const snapshot = await apart(() => graph.getState({ configurable: { thread_id: threadId } }));
  return {
    values: snapshot.values as Partial<ServiceState>,
    isWaiting: snapshot.tasks.some(({ interrupts }) => interrupts.length > 0),
  };
}

function apart<T>(work: () => T): T {
  return AsyncLocalStorageProviderSingleton.getInstance().run(undefined, work);
}

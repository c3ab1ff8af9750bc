import { END, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import { describe, expect, test } from 'vitest';
import { ExecutionRejectedError } from '../api/failures.ts';
import { AgentState } from './agent-state.ts';
import { BaseCapability, capabilityNode } from './capability.ts';

type Graph = Pick<ReturnType<typeof capability>, 'langgraph_node'>;

function capability(work: (state: AgentState) => Promise<object>) {
  return capabilityNode(
    class BeamCurrentCapability extends BaseCapability {
      static execute(state: AgentState): Promise<object> {
        return work(state);
      }
    },
  );
}

function graphOf({ langgraph_node }: Graph) {
  return new StateGraph(AgentState)
    .addNode('work', langgraph_node)
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ checkpointer: new MemorySaver() });
}

const CONVERSATION = { configurable: { thread_id: 't' } };
const QUESTION = { input_output: { user_query: 'How much?' } };

test('a capability is a node: it gets the state, and what it returns updates it', async () => {
  const beam = capability(async ({ input_output }) => ({
    capability_context_data: { BEAM: { now: { asked: input_output?.user_query ?? '' } } },
  }));
  const state = await graphOf(beam).invoke(QUESTION, CONVERSATION);
  expect(state.capability_context_data).toEqual({ BEAM: { now: { asked: 'How much?' } } });
});

describe('the name of a capability', () => {
  test('comes from its class, or is given', () => {
    expect(capability(async () => ({})).capability_name).toBe('beam_current');
    const given = capabilityNode(
      class extends BaseCapability {
        static override readonly capability_name = 'archiver';
        static async execute(): Promise<object> {
          return {};
        }
      },
    );
    expect(given.capability_name).toBe('archiver');
  });

  test('cannot be missing, nor can what it does', () => {
    const nameless = [
      class extends BaseCapability {
        static async execute(): Promise<object> {
          return {};
        }
      },
    ] as const;
    expect(() => capabilityNode(Object.defineProperty(nameless[0], 'name', { value: '' }))).toThrow(
      'A capability needs a name',
    );
    expect(() => capabilityNode(class IdleCapability extends BaseCapability {} as never)).toThrow(
      'The capability idle has no static execute(state)',
    );
  });
});

describe('what a capability throws', () => {
  test('ends the run of the graph as it is, and its severity is on the custom stream', async () => {
    const rejected = new ExecutionRejectedError('Ann said no.', { rejectedBy: 'Ann', reason: null });
    const graph = graphOf(capability(() => Promise.reject(rejected)));
    const events: unknown[] = [];
    const run = (async () => {
      for await (const event of await graph.stream(QUESTION, { ...CONVERSATION, streamMode: 'custom' }))
        events.push(event);
    })();
    await expect(run).rejects.toBe(rejected);
    expect(events).toEqual([
      {
        type: 'capability-failed',
        capability: 'beam_current',
        severity: 'critical',
        user_message: 'Ann said no.',
        technical_details: { error_type: 'ExecutionRejectedError', category: 'workflow' },
      },
    ]);
  });

  test('is classified by the capability itself if it knows better', async () => {
    const own = capabilityNode(
      class OwnCapability extends BaseCapability {
        static override classify_error() {
          return { severity: 'reclassification', user_message: 'Ask another.', technical_details: {} } as const;
        }
        static execute(): Promise<object> {
          return Promise.reject(new Error('x'));
        }
      },
    );
    const events: unknown[] = [];
    const stream = await graphOf(own as never).stream(QUESTION, { ...CONVERSATION, streamMode: 'custom' });
    await expect(
      (async () => {
        for await (const event of stream) events.push(event);
      })(),
    ).rejects.toThrow('x');
    expect(events).toMatchObject([{ severity: 'reclassification', user_message: 'Ask another.' }]);
  });

  test('is no failure if it is an interrupt', async () => {
    const graph = graphOf(capability(async () => ({ approval_approved: interrupt<string, boolean>('May I?') })));
    const events: unknown[] = [];
    for await (const event of await graph.stream(QUESTION, { ...CONVERSATION, streamMode: 'custom' }))
      events.push(event);
    expect(events).toEqual([]);
    expect((await graph.getState(CONVERSATION)).tasks[0]?.interrupts).toMatchObject([{ value: 'May I?' }]);
  });
});

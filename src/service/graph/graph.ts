import { END, START, StateGraph, type BaseCheckpointSaver, type LangGraphRunnableConfig } from '@langchain/langgraph';
import { ServiceState, type Step, type Update } from './state.ts';

type GraphNode = (state: ServiceState, config: LangGraphRunnableConfig) => Promise<Update>;

/** The steps of the service, one node each. A node sets `next` to the node that follows. */
export interface GraphNodes {
  readonly generate: GraphNode;
  readonly analyze: GraphNode;
  readonly approve: GraphNode;
  readonly execute: GraphNode;
}

const NAMES = {
  generate: 'python_code_generator',
  analyze: 'python_code_analyzer',
  approve: 'python_approval_node',
  execute: 'python_code_executor',
  end: END,
} as const satisfies Record<Step, string>;

/**
 *   generate ──▶ analyze ──▶ execute ──▶ end
 *      ▲            │ ▲         │
 *      │            ▼ │ edited  │  infrastructure: the same code again
 *      ├──────── approve ──▶ execute, or end when rejected
 *      └── code that failed, or a response instead of a decision
 */
export function buildGraph(nodes: GraphNodes, checkpointer: BaseCheckpointSaver) {
  const onward = ({ next }: ServiceState): (typeof NAMES)[Step] => NAMES[next];
  return new StateGraph(ServiceState)
    .addNode(NAMES.generate, nodes.generate)
    .addNode(NAMES.analyze, nodes.analyze)
    .addNode(NAMES.approve, nodes.approve)
    .addNode(NAMES.execute, nodes.execute)
    .addEdge(START, NAMES.generate)
    .addConditionalEdges(NAMES.generate, onward, [NAMES.analyze, NAMES.generate, END])
    .addConditionalEdges(NAMES.analyze, onward, [NAMES.analyze, NAMES.approve, NAMES.execute, NAMES.generate, END])
    .addConditionalEdges(NAMES.approve, onward, [NAMES.analyze, NAMES.execute, NAMES.generate, END])
    .addConditionalEdges(NAMES.execute, onward, [NAMES.execute, NAMES.generate, END])
    .compile({ checkpointer, name: 'python_executor' });
}

export type ServiceGraph = ReturnType<typeof buildGraph>;

import { isGraphBubbleUp, type LangGraphRunnableConfig } from '@langchain/langgraph';
import { ServiceConfigurationError } from '../api/failures.ts';
import { classifyError, type ErrorClassification } from './severity.ts';

/** What `execute` is given beside the state. */
export interface CapabilityArguments {
  /** The configuration of the graph's run, with its signal and its writer. */
  readonly config: LangGraphRunnableConfig;
}

/** A capability of an agent: a class with a static `execute`, which `capability_node` turns into a node of a graph. */
// oxlint-disable-next-line typescript/no-extraneous-class -- as in the reference, capabilities are classes that are never instantiated
export class BaseCapability {
  /** The name of the node. By default, that of the class: `DataAnalysisCapability` becomes `data_analysis`. */
  static readonly capability_name?: string;

  /** How bad a failure is. Override it for failures that are the capability's own. */
  static classify_error(error: unknown): ErrorClassification {
    return classifyError(error);
  }
}

interface CapabilityClass {
  readonly name: string;
  readonly capability_name?: string;
  /** Takes the state of the graph, and returns an update of it. */
  execute(state: never, kwargs: CapabilityArguments): Promise<object>;
  classify_error(error: unknown): ErrorClassification;
}

type StateOf<C extends CapabilityClass> = Parameters<C['execute']>[0];

/** What `capability_node` adds to a class. */
export interface CapabilityNode<State, Update> {
  readonly capability_name: string;
  /** The node: `graph.addNode(X.capability_name, X.langgraph_node)`. */
  readonly langgraph_node: (state: State, config: LangGraphRunnableConfig) => Update;
}

/** What a failing capability writes to the custom stream of its graph, before the error ends the run. */
export interface CapabilityFailed extends ErrorClassification {
  readonly type: 'capability-failed';
  readonly capability: string;
}

/**
 * Turns a capability into a node of a LangGraph graph, as the decorator of the same name does in Python:
 * `const DataAnalysis = capability_node(class DataAnalysisCapability extends BaseCapability { … })`.
 */
export function capabilityNode<C extends CapabilityClass>(
  capability: C,
): C & CapabilityNode<StateOf<C>, ReturnType<C['execute']>> {
  const name = capability.capability_name ?? nameOf(capability);
  if (typeof capability.execute !== 'function') {
    throw new ServiceConfigurationError(
      `The capability ${name} has no static execute(state). Write \`static async execute(state, { config }) { … }\`.`,
    );
  }
  const langgraph_node = async (state: StateOf<C>, config: LangGraphRunnableConfig): Promise<object> => {
    try {
      return await capability.execute(state, { config });
    } catch (error) {
      if (!isGraphBubbleUp(error)) config.writer?.(failed(name, capability.classify_error(error)));
      throw error;
    }
  };
  return Object.assign(capability, { capability_name: name, langgraph_node }) as never;
}

function failed(capability: string, classification: ErrorClassification): CapabilityFailed {
  return { type: 'capability-failed', capability, ...classification };
}

function nameOf({ name }: CapabilityClass): string {
  const words = name
    .replace(/Capability$/u, '')
    .replaceAll(/([a-z0-9])([A-Z])/gu, '$1_$2')
    .toLowerCase();
  if (words !== '') return words;
  throw new ServiceConfigurationError(
    'A capability needs a name. Name its class, or set `static capability_name = "data_analysis"`.',
  );
}

import { Annotation } from '@langchain/langgraph';
import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';
import { ServiceConfigurationError } from '../api/failures.ts';

/** One step of an agent's plan. */
export interface PlannedStep {
  /** Under which key the step stores its context. */
  readonly context_key?: string;
  readonly capability?: string;
  readonly task_objective?: string;
  readonly [more: string]: unknown;
}

export interface ExecutionPlan {
  readonly steps: readonly PlannedStep[];
}

/** What steps found out: `{ TYPE: { key: context } }`. Code reads it as `context.TYPE.key.field`. */
export type ContextData = Readonly<Record<string, Readonly<Record<string, Json>>>>;

/** The state of an agent's graph, with the keys of the reference. Two nodes of one step may both store context. */
export const AgentState = Annotation.Root({
  input_output: Annotation<{ readonly user_query?: string } | undefined>(),
  planning_execution_plan: Annotation<ExecutionPlan | null | undefined>(),
  planning_current_step_index: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  capability_context_data: Annotation<ContextData>({ reducer: mergeContext, default: () => ({}) }),
  approval_approved: Annotation<boolean | null>(),
  approved_payload: Annotation<Readonly<Record<string, unknown>> | null>(),
});
export type AgentState = typeof AgentState.State;

type PlannedState = Pick<AgentState, 'planning_execution_plan'> &
  Partial<Pick<AgentState, 'planning_current_step_index'>>;

/** The step of the plan that a graph is at. */
function getCurrentStep({
  planning_execution_plan: plan,
  planning_current_step_index: index = 0,
}: PlannedState): PlannedStep {
  const step = plan?.steps[index];
  if (step !== undefined) return step;
  const found = plan?.steps === undefined ? 'there is no plan' : `the plan has ${plan.steps.length} steps`;
  throw new ServiceConfigurationError(
    `The state has no step ${index}: ${found}. Set planning_execution_plan: { steps: [{ context_key, task_objective }] } and planning_current_step_index.`,
  );
}

const Context = z.record(z.string(), z.json());

/** The state update that stores the context of a step. Everything stored before stays. */
function storeContext(
  { capability_context_data: stored = {} }: Partial<Pick<AgentState, 'capability_context_data'>>,
  contextType: string,
  contextKey: string | undefined,
  context: object,
): { readonly capability_context_data: ContextData } {
  if (!contextType || !contextKey) {
    throw new ServiceConfigurationError(
      `Context needs a type and a key, not ${JSON.stringify(contextType)} and ${JSON.stringify(contextKey)}. Take the type from get_registry().context_types, and the key from context_key of the step.`,
    );
  }
  const parsed = Context.safeParse(context);
  if (!parsed.success) {
    throw new ServiceConfigurationError(
      `The context ${contextType}.${contextKey} must be an object of JSON values, because checkpoints and code get it as JSON: ${z.prettifyError(parsed.error)}`,
    );
  }
  return { capability_context_data: mergeContext(stored, { [contextType]: { [contextKey]: parsed.data } }) };
}

function mergeContext(stored: ContextData, added: ContextData): ContextData {
  const merged = Object.entries(added).map(([type, contexts]) => [type, { ...stored[type], ...contexts }] as const);
  return { ...stored, ...Object.fromEntries(merged) };
}

/** Reads and updates the state of an agent's graph. Each function has two spellings. */
export const StateManager = {
  getCurrentStep,
  storeContext,
  get_current_step: getCurrentStep,
  store_context: storeContext,
} as const;

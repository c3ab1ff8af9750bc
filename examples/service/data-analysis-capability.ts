/** A capability of a larger agent: a graph node that analyzes data with generated code, which a person approves. */
import {
  Annotation,
  Command,
  END,
  INTERRUPT,
  isInterrupted,
  MemorySaver,
  START,
  StateGraph,
} from '@langchain/langgraph';
import {
  clear_approval_state,
  create_approval_type,
  get_approval_resume_data,
  get_full_configuration,
  get_registry,
  handle_service_with_interrupts,
  PythonExecutionRequest,
  pythonResultsContext,
  type ApprovalPayload,
} from '../../src/service.ts';
import { logger, withExampleService } from './service.ts';

const AgentState = Annotation.Root({
  input_output: Annotation<{ readonly user_query: string }>(),
  step: Annotation<{ readonly context_key: string; readonly task_objective: string }>(),
  capability_context_data: Annotation<Readonly<Record<string, unknown>>>(),
  approval_approved: Annotation<boolean | null>(),
  approved_payload: Annotation<Readonly<Record<string, unknown>> | null>(),
});
type AgentState = typeof AgentState.State;

const capability_prompts = [
  '**ANALYSIS REQUIREMENTS:**',
  '- Generate statistical summary of the data',
  '- Create visualizations to identify trends',
  '- Identify patterns and anomalies',
  '**EXPECTED OUTPUT:**',
  'Create a results dictionary with:',
  '- statistics: Statistical summary metrics',
  '- trends: Identified trends and patterns',
  '- visualizations: List of generated plots',
];

/** The node. It runs again after an answer, and finds its waiting request. */
async function dataAnalysis(state: AgentState): Promise<Partial<AgentState>> {
  const { step } = state;
  const python_service = get_registry().get_service('python_executor');
  const service_config = {
    configurable: {
      ...get_full_configuration(),
      thread_id: `data_analysis_${step.context_key}`,
      checkpoint_ns: 'python_executor',
    },
  };
  const [has_approval_resume, approved_payload] = get_approval_resume_data(
    state,
    create_approval_type('data_analysis'),
  );
  let service_result;
  let approval_cleanup = {};
  if (has_approval_resume) {
    // The decision is in the state.
    const resume = approved_payload ? { approved: true, ...approved_payload } : { approved: false };
    service_result = await python_service.ainvoke(new Command({ resume }), service_config);
    approval_cleanup = clear_approval_state();
  } else {
    service_result = await handle_service_with_interrupts({
      service: python_service,
      request: PythonExecutionRequest({
        user_query: state.input_output.user_query,
        task_objective: step.task_objective,
        capability_prompts,
        expected_results: { statistics: 'dict', trends: 'list', visualizations: 'list' },
        execution_folder_name: 'data_analysis',
        capability_context_data: state.capability_context_data,
        retries: 3,
      }),
      config: service_config,
      logger,
      capability_name: 'DataAnalysis',
    });
  }
  const ANALYSIS_RESULTS = { [step.context_key]: pythonResultsContext(service_result) };
  return {
    capability_context_data: { ...state.capability_context_data, ANALYSIS_RESULTS },
    ...approval_cleanup,
  };
}

export function buildAgent() {
  return new StateGraph(AgentState)
    .addNode('data_analysis', dataAnalysis)
    .addEdge(START, 'data_analysis')
    .addEdge('data_analysis', END)
    .compile({ checkpointer: new MemorySaver() });
}

export const QUESTION = {
  input_output: { user_query: 'How did the beam current develop, and is anything odd?' },
  step: { context_key: 'beam_current', task_objective: 'Analyze the beam current' },
  capability_context_data: { ARCHIVER_DATA: { beam_current: { values: [500.1, 499.8, 499.9, 431.2, 500.0] } } },
};

async function main(): Promise<void> {
  const agent = buildAgent();
  const conversation = { configurable: { thread_id: 'conversation' } };
  let state: unknown = await agent.invoke(QUESTION, conversation);
  while (isInterrupted<ApprovalPayload & { readonly approval_id: string }>(state)) {
    const { user_message, resume_payload, approval_id } = state[INTERRUPT][0]?.value ?? {};
    console.log(user_message);
    // A decision can come through the interrupt or through the state of the graph.
    state =
      process.argv[2] === 'state'
        ? await agent.invoke({ approval_approved: true, approved_payload: resume_payload ?? null }, conversation)
        : await agent.invoke(new Command({ resume: { approved: true, approval_id } }), conversation);
  }
  const { capability_context_data } = state as AgentState;
  console.log(JSON.stringify(capability_context_data['ANALYSIS_RESULTS'], undefined, 2));
}

if (import.meta.main) await withExampleService(main, { mock: 'channel_write' });

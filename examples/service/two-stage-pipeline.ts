/** Two executions in a row: the result of the first is the context of the second. */
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
  get_full_configuration,
  get_registry,
  handle_service_with_interrupts,
  PythonExecutionRequest,
  type ApprovalPayload,
  type SpelledResult,
} from '../../src/service.ts';
import { logger, withExampleService } from './service.ts';

type Context = Readonly<Record<string, unknown>>;

const preprocessing_prompts = [
  '**PREPROCESSING STAGE:**',
  '- Clean and validate the input data',
  '- Handle missing values and outliers',
  '- Prepare data for statistical analysis',
];

const analysis_prompts = [
  '**STATISTICAL ANALYSIS STAGE:**',
  '- Use the cleaned data from preprocessing stage',
  '- Perform comprehensive statistical analysis',
  '- Generate summary statistics and insights',
];

/** Each stage has its own thread, so each can be approved separately. */
async function multiStageAnalysis(data_context: Context) {
  const preprocessing = await runStage('stage1_preprocessing', {
    user_query: 'Data preprocessing stage',
    task_objective: 'Clean and prepare data for analysis',
    capability_prompts: preprocessing_prompts,
    expected_results: { cleaned_data: 'pandas.DataFrame', summary: 'dict' },
    capability_context_data: data_context,
  });
  const analysis = await runStage('stage2_analysis', {
    user_query: 'Statistical analysis stage',
    task_objective: 'Perform statistical analysis on preprocessed data',
    capability_prompts: analysis_prompts,
    expected_results: { statistics: 'dict', insights: 'list' },
    capability_context_data: { ...data_context, preprocessing_results: preprocessing.execution_result.results },
  });
  return { pipeline_completed: true, stages: { preprocessing, analysis } };
}

function runStage(name: string, fields: Context): Promise<SpelledResult> {
  return handle_service_with_interrupts({
    service: get_registry().get_service('python_executor'),
    request: PythonExecutionRequest({ ...fields, execution_folder_name: name }),
    config: { configurable: { ...get_full_configuration(), thread_id: name, checkpoint_ns: 'python_executor' } },
    logger,
    capability_name: name,
  });
}

const State = Annotation.Root({ data_context: Annotation<Context>(), results: Annotation<unknown>() });

/** The pipeline as a node of a graph, so that it can wait for approvals. */
export function buildPipeline() {
  return new StateGraph(State)
    .addNode('pipeline', async ({ data_context }) => {
      const { stages } = await multiStageAnalysis(data_context);
      return { results: Object.values(stages).map(({ execution_result }) => execution_result.results) };
    })
    .addEdge(START, 'pipeline')
    .addEdge('pipeline', END)
    .compile({ checkpointer: new MemorySaver() });
}

export const DATA = { SENSORS: { hall: { temperatures: [21.5, 21.7, null, 21.6, 99.9] } } };

async function main(): Promise<void> {
  const pipeline = buildPipeline();
  const conversation = { configurable: { thread_id: 'conversation' } };
  let state: unknown = await pipeline.invoke({ data_context: DATA }, conversation);
  while (isInterrupted<ApprovalPayload & { readonly approval_id: string }>(state)) {
    const { user_message, approval_id } = state[INTERRUPT][0]?.value ?? {};
    console.log(user_message);
    state = await pipeline.invoke(new Command({ resume: { approved: true, approval_id } }), conversation);
  }
  console.log(JSON.stringify((state as typeof State.State).results, undefined, 2));
}

if (import.meta.main) await withExampleService(main);

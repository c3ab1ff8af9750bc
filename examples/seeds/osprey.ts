/**
 * The guide to Python execution in Osprey, snippet by snippet. config.yml beside this file is the guide's. It needs a Jupyter
 * server at localhost:8888 (`jupyter server`, with the same JUPYTER_TOKEN as this process) and a model that
 * VIVARIUM_LLM_BASE_URL and VIVARIUM_LLM_MODEL lead to. Nothing is closed by hand: the process ends when its work does.
 */
import path from 'node:path';
import { Command, END, INTERRUPT, isInterrupted, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import {
  AgentState,
  BaseCapability,
  capability_node,
  clear_approval_state,
  create_approval_type,
  get_approval_resume_data,
  get_full_configuration,
  get_registry,
  handle_service_with_interrupts,
  PythonExecutionRequest,
  pythonResultsContext,
  startPythonExecutor,
  StateManager,
  type ApprovalPayload,
} from '../../src/service.ts';

const logger = { info: (message: string): void => console.log(`· ${message}`) };

// Using Python Execution in Capabilities

/** Data analysis capability using Python execution service. */
export const DataAnalysisCapability = capability_node(
  class DataAnalysisCapability extends BaseCapability {
    static async execute(state: AgentState) {
      // Get current step and registry
      const step = StateManager.get_current_step(state);
      const registry = get_registry<'ANALYSIS_RESULTS'>();

      // Get Python executor service from registry. It throws if the service is not available.
      const python_service = registry.get_service('python_executor');

      // Create service configuration
      const main_configurable = get_full_configuration();
      const service_config = {
        configurable: {
          ...main_configurable,
          thread_id: `data_analysis_${step.context_key ?? 'default'}`,
          checkpoint_ns: 'python_executor',
        },
      };

      // Check for approval resume first
      const [has_approval_resume, approved_payload] = get_approval_resume_data(
        state,
        create_approval_type('data_analysis'),
      );

      let service_result;
      let approval_cleanup;
      if (has_approval_resume) {
        // Handle approval resume
        const resume_response = approved_payload ? { approved: true, ...approved_payload } : { approved: false };
        service_result = await python_service.ainvoke(new Command({ resume: resume_response }), service_config);
        approval_cleanup = clear_approval_state();
      } else {
        // Normal execution flow
        // Create structured prompts for Python generation
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

        // Create execution request
        const execution_request = PythonExecutionRequest({
          user_query: state.input_output?.user_query ?? '',
          task_objective: step.task_objective ?? 'Analyze data',
          capability_prompts,
          expected_results: {
            statistics: 'dict',
            trends: 'list',
            visualizations: 'list',
          },
          execution_folder_name: 'data_analysis',
          capability_context_data: state.capability_context_data,
          retries: 3,
        });

        // Use centralized interrupt handler
        service_result = await handle_service_with_interrupts({
          service: python_service,
          request: execution_request,
          config: service_config,
          logger,
          capability_name: 'DataAnalysis',
        });
        approval_cleanup = null;
      }

      // Process results (both paths converge here)
      const analysis_context = pythonResultsContext(service_result);

      // Store context using StateManager
      const context_updates = StateManager.store_context(
        state,
        registry.context_types.ANALYSIS_RESULTS,
        step.context_key,
        analysis_context,
      );

      // Return with optional approval cleanup
      if (approval_cleanup) return { ...context_updates, ...approval_cleanup };
      return context_updates;
    }
  },
);

// Example: Dynamic Environment Selection (Advanced Use Case)

interface CodeRequest {
  readonly requires_isolation?: boolean;
  readonly has_special_dependencies?: boolean;
  /** In seconds. */
  readonly estimated_time?: number;
  readonly security_level?: string;
}

/** Most use cases should rely on the standard config.yml execution_method setting. */
export class FlexiblePythonExecution {
  /** Select execution environment based on request characteristics. */
  _select_execution_environment(code_request: CodeRequest): 'container' | 'local' {
    const requires_isolation = code_request.requires_isolation ?? false;
    const has_dependencies = code_request.has_special_dependencies ?? false;
    const is_long_running = (code_request.estimated_time ?? 0) > 300;
    const security_level = code_request.security_level ?? 'medium';

    // Example decision logic for environment selection
    if (security_level === 'high' || requires_isolation) return 'container';
    else if (has_dependencies || is_long_running) return 'container';
    return 'local'; // Faster for simple operations
  }

  /** Override execution method in service config. */
  async execute_with_dynamic_environment(state: AgentState, request_data: CodeRequest) {
    // Get the dynamic execution method
    const execution_method = this._select_execution_environment(request_data);

    // Override the config setting for this specific request
    const main_configurable = get_full_configuration();
    const service_config = {
      configurable: {
        ...main_configurable,
        execution_method, // Override config.yml setting
        thread_id: `dynamic_${execution_method}`,
        checkpoint_ns: 'python_executor',
      },
    };

    // Use the service with the dynamic configuration
    return handle_service_with_interrupts({
      service: get_registry().get_service('python_executor'),
      request: PythonExecutionRequest({
        user_query: state.input_output?.user_query ?? '',
        task_objective: 'Say where this runs',
        expected_results: { python: 'str' },
        execution_folder_name: `dynamic_${execution_method}`,
      }),
      config: service_config,
      logger,
      capability_name: 'FlexiblePythonExecution',
    });
  }
}

// Multi-Stage Analysis Pipeline

/** Execute multi-stage analysis pipeline with approval handling. */
export async function multi_stage_analysis(_state: AgentState, data_context: Readonly<Record<string, unknown>>) {
  const registry = get_registry();
  const python_service = registry.get_service('python_executor');
  const main_configurable = get_full_configuration();

  // Stage 1: Data preprocessing
  const stage1_config = {
    configurable: {
      ...main_configurable,
      thread_id: 'stage1_preprocessing',
      checkpoint_ns: 'python_executor',
    },
  };

  const preprocessing_prompts = [
    '**PREPROCESSING STAGE:**',
    '- Clean and validate the input data',
    '- Handle missing values and outliers',
    '- Prepare data for statistical analysis',
  ];

  const preprocessing_request = PythonExecutionRequest({
    user_query: 'Data preprocessing stage',
    task_objective: 'Clean and prepare data for analysis',
    capability_prompts: preprocessing_prompts,
    expected_results: { cleaned_data: 'pandas.DataFrame', summary: 'dict' },
    execution_folder_name: 'stage1_preprocessing',
    capability_context_data: data_context,
  });

  const stage1_result = await handle_service_with_interrupts({
    service: python_service,
    request: preprocessing_request,
    config: stage1_config,
    logger,
    capability_name: 'PreprocessingStage',
  });

  // Stage 2: Statistical analysis (using results from stage 1)
  const stage2_config = {
    configurable: {
      ...main_configurable,
      thread_id: 'stage2_analysis',
      checkpoint_ns: 'python_executor',
    },
  };

  const analysis_prompts = [
    '**STATISTICAL ANALYSIS STAGE:**',
    '- Use the cleaned data from preprocessing stage',
    '- Perform comprehensive statistical analysis',
    '- Generate summary statistics and insights',
  ];

  // Combine original context with preprocessing results
  const stage2_context = {
    ...data_context,
    preprocessing_results: stage1_result.execution_result.results,
  };

  const analysis_request = PythonExecutionRequest({
    user_query: 'Statistical analysis stage',
    task_objective: 'Perform statistical analysis on preprocessed data',
    capability_prompts: analysis_prompts,
    expected_results: { statistics: 'dict', insights: 'list' },
    execution_folder_name: 'stage2_analysis',
    capability_context_data: stage2_context,
  });

  const stage2_result = await handle_service_with_interrupts({
    service: python_service,
    request: analysis_request,
    config: stage2_config,
    logger,
    capability_name: 'AnalysisStage',
  });

  return {
    pipeline_completed: true,
    stages: {
      preprocessing: stage1_result,
      analysis: stage2_result,
    },
  };
}

// The agent around them, which the guide takes for granted

const SENSORS = { SENSORS: { hall: { temperatures: [21.5, 21.7, null, 21.6, 99.9] } } };

function buildAgent() {
  return new StateGraph(AgentState)
    .addNode('data_analysis', DataAnalysisCapability.langgraph_node)
    .addEdge(START, 'data_analysis')
    .addEdge('data_analysis', END)
    .compile({ checkpointer: new MemorySaver() });
}

/** Asks the agent, has a person approve its code, and continues. */
async function analyze(): Promise<AgentState> {
  const agent = buildAgent();
  const conversation = { configurable: { thread_id: 'conversation' } };
  const question = {
    input_output: { user_query: 'How warm was the hall?' },
    planning_execution_plan: { steps: [{ context_key: 'hall', task_objective: 'Analyze data' }] },
    capability_context_data: SENSORS,
  };
  let state: unknown = await agent.invoke(question, conversation);
  while (isInterrupted<ApprovalPayload>(state)) {
    const { user_message, resume_payload } = state[INTERRUPT][0]?.value ?? {};
    console.log(user_message);
    state = await agent.invoke({ approval_approved: true, approved_payload: resume_payload ?? null }, conversation);
  }
  return state as AgentState;
}

async function main(): Promise<void> {
  const registry = get_registry();
  const config = { path: path.join(import.meta.dirname, 'config.yml'), environment: process.env };
  registry.register_service('python_executor', await startPythonExecutor({ config }));
  registry.register_context_type('ANALYSIS_RESULTS');

  const state = await analyze();
  console.log('analysis', JSON.stringify(state.capability_context_data));

  const flexible = new FlexiblePythonExecution();
  for (const request of [{ security_level: 'high' }, { estimated_time: 5 }]) {
    const { execution_result } = await flexible.execute_with_dynamic_environment(state, request);
    console.log('dynamic', JSON.stringify(execution_result.results));
  }

  const { pipeline_completed, stages } = await multi_stage_analysis(state, SENSORS);
  console.log('pipeline', pipeline_completed, JSON.stringify(stages.analysis.execution_result.results));
}

if (import.meta.main) await main();

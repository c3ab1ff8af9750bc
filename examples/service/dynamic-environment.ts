/** Chooses where code runs for each request: on a Jupyter server if it needs isolation, otherwise on this machine. */
import {
  get_full_configuration,
  get_registry,
  handle_service_with_interrupts,
  PythonExecutionRequest,
  PythonExecutorError,
  type SpelledResult,
} from '../../src/service.ts';
import { logger, withExampleService } from './service.ts';

interface CodeRequest {
  readonly task_objective: string;
  readonly requires_isolation?: boolean;
  readonly has_special_dependencies?: boolean;
  /** In seconds. */
  readonly estimated_time?: number;
  readonly security_level?: 'low' | 'medium' | 'high';
}

/** Most services should rely on execution_method in config.yml. This is for requests with special requirements. */
export class FlexiblePythonExecution {
  selectExecutionEnvironment(request: CodeRequest): 'container' | 'local' {
    const { requires_isolation, has_special_dependencies, estimated_time = 0, security_level = 'medium' } = request;
    if (security_level === 'high' || requires_isolation) return 'container';
    if (has_special_dependencies || estimated_time > 300) return 'container';
    return 'local'; // faster for simple operations
  }

  executeWithDynamicEnvironment(request: CodeRequest): Promise<SpelledResult> {
    const execution_method = this.selectExecutionEnvironment(request);
    return handle_service_with_interrupts({
      service: get_registry().get_service('python_executor'),
      request: PythonExecutionRequest({
        user_query: request.task_objective,
        task_objective: request.task_objective,
        expected_results: { answer: 'float' },
        execution_folder_name: `dynamic_${execution_method}`,
      }),
      config: {
        configurable: {
          ...get_full_configuration(),
          execution_method, // overrides config.yml
          thread_id: `dynamic_${execution_method}`,
          checkpoint_ns: 'python_executor',
        },
      },
      logger,
      capability_name: 'FlexiblePythonExecution',
    });
  }
}

async function main(): Promise<void> {
  const flexible = new FlexiblePythonExecution();
  for (const request of [
    { task_objective: 'Average three numbers' },
    { task_objective: 'Average three secrets', security_level: 'high' },
  ] as const) {
    console.log(`${request.task_objective}: ${flexible.selectExecutionEnvironment(request)}`);
    try {
      const { execution_result } = await flexible.executeWithDynamicEnvironment(request);
      console.log(JSON.stringify(execution_result.results), execution_result.notebook_link);
    } catch (error) {
      if (!(error instanceof PythonExecutorError)) throw error;
      console.log(`${error.name} (${error.category}): ${error.message}`);
    }
  }
}

if (import.meta.main) await withExampleService(main);

import type { Configuration } from './config/schema.ts';
import { ServiceConfigurationError } from './api/failures.ts';
import type { PythonExecutorService } from './service.ts';

/** Services by name. */
class Registry {
  readonly #services = new Map<string, PythonExecutorService>();

  registerService(name: string, service: PythonExecutorService): void {
    this.#services.set(name, service);
  }

  unregisterService(name: string): void {
    this.#services.delete(name);
  }

  /** `getService`, by the name that examples of the reference use. */
  get_service(name: string): PythonExecutorService {
    return this.getService(name);
  }

  getService(name: string): PythonExecutorService {
    const service = this.#services.get(name);
    if (service !== undefined) return service;
    const known =
      this.#services.size === 0 ? 'no service is registered' : `there is ${[...this.#services.keys()].join(', ')}`;
    throw new ServiceConfigurationError(
      `Python executor service not available: nothing is registered as ${JSON.stringify(name)} (${known}). Start one with startPythonExecutor() and call getRegistry().registerService(${JSON.stringify(name)}, service).`,
    );
  }
}

const registry = new Registry();

/** The registry of this process: capabilities find services here that others have started. */
export function getRegistry(): Registry {
  return registry;
}

/**
 * The configuration of the registered service, for `configurable` of a call. Of what is put over it the service reads
 * `execution_method`, `user_id` and `chat_id`; all else is as it was configured. Keys and
 * passwords are left out: what is configurable is shown in traces, and the service has its own.
 */
export function getFullConfiguration(name = 'python_executor'): Record<string, unknown> {
  return { ...withoutSecrets(registry.getService(name).configuration) };
}

function withoutSecrets(configuration: Configuration): Configuration {
  const { framework, models, langgraph: _langgraph, ...rest } = configuration;
  const { container, modes, generators: _generators, ...execution } = framework.execution;
  const { jupyter_token: _token, read_only, write_access, ...reachable } = container;
  const { api_key: _key, ...model } = models.python_code_generator;
  return {
    ...rest,
    framework: {
      ...framework,
      execution: {
        ...execution,
        generators: {},
        container: { ...reachable, read_only: withoutToken(read_only), write_access: withoutToken(write_access) },
        modes: {
          read_only: { ...modes.read_only, environment: {} },
          write_access: { ...modes.write_access, environment: {} },
        },
      },
    },
    models: { ...models, python_code_generator: model },
    langgraph: {},
  };
}

function withoutToken<T extends { readonly jupyter_token?: string | undefined }>({
  jupyter_token: _token,
  ...reachable
}: T) {
  return reachable;
}

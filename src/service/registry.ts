import type { Configuration } from './config/schema.ts';
import { ServiceConfigurationError } from './api/failures.ts';
import type { PythonExecutorService } from './service.ts';

/** Services by name. */
class ServiceRegistry {
  readonly #services = new Map<string, PythonExecutorService>();

  registerService(name: string, service: PythonExecutorService): void {
    this.#services.set(name, service);
  }

  unregisterService(name: string): void {
    this.#services.delete(name);
  }

  /** Same as `getService`, in the spelling of the reference's examples. */
  get_service(name: string): PythonExecutorService {
    return this.getService(name);
  }

  getService(name: string): PythonExecutorService {
    const service = this.#services.get(name);
    if (service !== undefined) return service;
    const known =
      this.#services.size === 0 ? 'no service is registered' : `registered: ${[...this.#services.keys()].join(', ')}`;
    throw new ServiceConfigurationError(
      `Python executor service not available: nothing is registered as ${JSON.stringify(name)} (${known}). Start one with startPythonExecutor() and call getRegistry().registerService(${JSON.stringify(name)}, service).`,
    );
  }
}

const registry = new ServiceRegistry();

/** The registry of this process, where capabilities find services that other code has started. */
export function getRegistry(): ServiceRegistry {
  return registry;
}

/**
 * The configuration of the registered service, for `configurable` of a call. A call can override `execution_method`,
 * `user_id` and `chat_id`; everything else is fixed. Keys and passwords are left out, because `configurable` appears in
 * traces and the service has its own copy.
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

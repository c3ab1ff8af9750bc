import type { Configuration } from './config/schema.ts';
import { ServiceConfigurationError } from './api/failures.ts';
import { ContextTypeList, type ContextTypes } from './capability/context-types.ts';
import type { PythonExecutorService } from './service.ts';

/** Services and context types by name. */
class ServiceRegistry {
  /** The registered context types: `context_types.ANALYSIS_RESULTS` is `'ANALYSIS_RESULTS'`. */
  get context_types(): ContextTypes {
    return this.#contextTypes.types;
  }

  get contextTypes(): ContextTypes {
    return this.#contextTypes.types;
  }

  readonly #contextTypes = new ContextTypeList();
  readonly #services = new Map<string, PythonExecutorService>();

  registerService(name: string, service: PythonExecutorService): void {
    this.#services.set(name, service);
  }

  /** Same as `registerService`, in the spelling of the reference's examples. */
  register_service(name: string, service: PythonExecutorService): void {
    this.registerService(name, service);
  }

  /** Makes the name of a context known to capabilities. */
  registerContextType(name: string): void {
    this.#contextTypes.add(name);
  }

  /** Same as `registerContextType`, in the spelling of the reference's examples. */
  register_context_type(name: string): void {
    this.registerContextType(name);
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

/**
 * The registry of this process, where capabilities find services that other code has started. Naming context types,
 * as in `getRegistry<'ANALYSIS_RESULTS'>()`, makes them properties that the compiler knows.
 */
export function getRegistry<Types extends string = string>(): ServiceRegistry & {
  readonly context_types: ContextTypes<Types>;
} {
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

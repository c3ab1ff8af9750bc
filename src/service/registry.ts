import type { Configuration } from './config/schema.ts';
import { ServiceConfigurationError } from './failures.ts';
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

/** The configuration of the registered service, for `configurable` of a call; single keys may be put over it. */
export function getFullConfiguration(name = 'python_executor'): Configuration & Record<string, unknown> {
  return { ...registry.getService(name).configuration };
}

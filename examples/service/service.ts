/** Starts the service of the examples from their configuration, and registers it where capabilities look for it. */
import path from 'node:path';
import { getRegistry, loadConfiguration, startPythonExecutor } from '../../src/service.ts';

export interface ExampleOptions {
  /** The code of the mock generator, used if no model is set. */
  readonly mock?: 'success' | 'channel_write';
}

/** If VIVARIUM_LLM_BASE_URL is set, a model writes the code. Otherwise the mock generator does, without any network. */
export async function withExampleService(
  work: () => Promise<void>,
  { mock = 'success' }: ExampleOptions = {},
): Promise<void> {
  const hasModel = process.env['VIVARIUM_LLM_BASE_URL'] !== undefined;
  const environment = {
    EXAMPLE_GENERATOR: hasModel ? 'basic' : 'mock',
    EXAMPLE_MOCK_BEHAVIOR: mock,
    ...process.env,
  };
  const file = path.join(import.meta.dirname, 'config.yml');
  await using service = await startPythonExecutor({
    config: await loadConfiguration({ path: file, environment }),
  });
  getRegistry().registerService('python_executor', service);
  await work();
}

/** A logger for capabilities. */
export const logger = { info: (message: string): void => console.log(`· ${message}`) };

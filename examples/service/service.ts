/** The service of the examples, started from their configuration and registered where capabilities look for it. */
import path from 'node:path';
import { getRegistry, loadConfiguration, startPythonExecutor } from '../../src/service.ts';

export interface ExampleOptions {
  /** What the mock generator writes where no model is set. */
  readonly mock?: 'success' | 'channel_write';
}

/** With VIVARIUM_LLM_BASE_URL set a model writes the code; without it the mock does, and nothing leaves this machine. */
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

/** A logger, as capabilities have one. */
export const logger = { info: (message: string): void => console.log(`· ${message}`) };

/** A small code tool on the real interpreter: each client's code runs in a session of its own, which keeps its state. */
import type { Execution, Json } from '../../src/execution/execution.ts';
import type { Interpreter } from '../../src/session/interpreter.ts';
import { forModel } from '../../src/text/for-model.ts';
import type { CallOptions, Observation, Tool, ToolDefinition } from '../../src/tool/tool.ts';

export class PythonTool implements Tool {
  readonly name = 'code_interpreter';
  readonly #interpreter: Interpreter;

  constructor(interpreter: Interpreter) {
    this.#interpreter = interpreter;
  }

  define(): Promise<ToolDefinition> {
    const { version } = this.#interpreter.environment;
    return Promise.resolve({
      name: this.name,
      description: `Runs code with Python ${version} and keeps its variables. There is no network.`,
      parameters: {
        type: 'object',
        properties: { code: { type: 'string', description: 'Python code to execute in the sandboxed interpreter' } },
        required: ['code'],
      },
    });
  }

  async call(
    args: Readonly<Record<string, unknown>>,
    { signal, context = {} }: CallOptions = {},
  ): Promise<Observation> {
    const { code } = args;
    if (typeof code !== 'string') {
      return { text: 'Give the code as a string.', payload: { error: 'no code' }, isError: true };
    }
    const execution = await this.#interpreter.runCode(code, { ...context, ...(signal && { signal }) });
    return {
      text: forModel(execution),
      payload: fiveKeys(execution),
      isError: execution.outcome.status !== 'succeeded',
    };
  }
}

function fiveKeys({ logs, error, files, figures, dataframes }: Execution): Json {
  return {
    stdout: logs.stdout,
    stderr: logs.stderr + (error?.traceback ?? ''),
    files: files.map(({ path, sizeBytes }) => ({ path, size: sizeBytes })),
    plots: figures.map(({ path, title, sizeBytes }) => ({ path: path ?? title ?? '', size: sizeBytes })),
    dataframes: dataframes.map(({ name, repr }) => ({ name, repr })),
  };
}

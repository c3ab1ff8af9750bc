import type { Config } from '../../config.ts';
import type { Event } from '../../execution/event.ts';
import type { Execution } from '../../execution/execution.ts';
import { Transcript } from '../../execution/transcript.ts';
import type { Host } from '../../host/host.ts';
import type { Session } from '../../host/session.ts';
import { forModel } from '../../text/for-model.ts';
import { describeSurroundings } from '../../tool/description.ts';
import type { CallOptions, Observation, Tool, ToolDefinition } from '../../tool/tool.ts';

export const SESSION_TOOL = 'run_python_code';

export interface RunListener {
  /** Called while the code runs. The program waits for it. */
  onEvent(event: Event): Promise<void>;
  onEnd(execution: Execution): Promise<void>;
}

export interface SessionToolParts {
  readonly session: Session;
  readonly host: Host;
  readonly limits: Config['limits'];
  readonly listener: RunListener;
}

/** The tool that runs a model's code in the session of the command, while a listener follows it. */
export class SessionTool implements Tool {
  readonly name = SESSION_TOOL;
  readonly #parts: SessionToolParts;

  constructor(parts: SessionToolParts) {
    this.#parts = parts;
  }

  define(): Promise<ToolDefinition> {
    const { host, session, limits } = this.#parts;
    const { timeoutMs, memoryMb } = limits;
    const surroundings = describeSurroundings({
      environment: host.environment,
      isolation: session.isolation,
      timeoutMs,
      memoryMb,
      keeps: 'variables and files',
    });
    return Promise.resolve({
      name: this.name,
      description: `Runs Python code and returns what it printed, showed and wrote. ${surroundings} Figures are shown to the user without further code.`,
      parameters: {
        type: 'object',
        properties: { code: { type: 'string', description: 'The Python code to run' } },
        required: ['code'],
      },
    });
  }

  async call({ code }: Readonly<Record<string, unknown>>, { signal }: CallOptions = {}): Promise<Observation> {
    if (typeof code !== 'string') {
      return { text: 'Nothing ran: `code` must be a string of Python code.', payload: null, isError: true };
    }
    const { session, limits, listener } = this.#parts;
    const transcript = new Transcript(limits.outputBytes);
    for await (const event of session.stream(code, { ...(signal && { signal }) })) {
      transcript.add(event);
      await listener.onEvent(event);
    }
    const execution = transcript.execution();
    await listener.onEnd(execution);
    const { logs, files, outcome } = execution;
    return {
      text: forModel(execution),
      payload: { ...logs, files: files.map(({ path, sizeBytes }) => ({ path, size: sizeBytes })) },
      isError: outcome.status !== 'succeeded',
    };
  }
}

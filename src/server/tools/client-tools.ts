import path from 'node:path';
import type { Host } from '../../host/host.ts';
import { CodeInterpreterTool } from '../../tool/code-interpreter/code-interpreter.ts';
import { IPythonInterpreter } from '../../tool/ipython/ipython.ts';
import type { Tool } from '../../tool/tool.ts';
import { PythonInterpreterToolSet } from '../../tool/toolset/toolset.ts';
import type { Admission } from '../access/admission.ts';
import type { Client } from '../access/client.ts';

/** What the tools have by default, if the client may have that much. */
const SECONDS = { toolset: 600, codeInterpreter: 5, ipython: 20 };
const CODE_INTERPRETER_MB = 256;

export interface ClientToolsOptions {
  readonly host: Host;
  readonly admission: Admission;
  /** For copies of files and figures that the tools make. */
  readonly directory: string;
}

/** The tools, for each client on its own part of the host. */
export class ClientTools implements AsyncDisposable {
  readonly #options: ClientToolsOptions;
  readonly #byClient = new Map<string | null, readonly Tool[]>();
  readonly #owned = new AsyncDisposableStack();

  constructor(options: ClientToolsOptions) {
    this.#options = options;
  }

  of(client: Client): readonly Tool[] {
    const tools = this.#byClient.get(client.id) ?? this.#make(client);
    this.#byClient.set(client.id, tools);
    return tools;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  #make(client: Client): readonly Tool[] {
    const { admission, directory } = this.#options;
    const host = admission.hostOf(this.#options.host, client);
    const { timeoutMs = Infinity, memoryMb = Infinity } = client.ceiling?.limits ?? {};
    const seconds = (usual: number): number => Math.min(usual, timeoutMs / 1000);
    const toolset = this.#owned.use(
      new PythonInterpreterToolSet({ name: 'python', host, workdir: false, timeout: seconds(SECONDS.toolset) }),
    );
    const codeInterpreter = this.#owned.use(
      new CodeInterpreterTool({
        host,
        timeout: seconds(SECONDS.codeInterpreter),
        memoryLimitMb: Math.min(CODE_INTERPRETER_MB, memoryMb),
        artifactDir: path.join(directory, 'tool-files'),
      }),
    );
    const notebook = this.#owned.use(
      new IPythonInterpreter({
        host,
        timeout: seconds(SECONDS.ipython),
        userDataDir: null,
        workDir: path.join(directory, 'tool-figures'),
      }),
    );
    return [...toolset.tools(), codeInterpreter, notebook.toTool()];
  }
}

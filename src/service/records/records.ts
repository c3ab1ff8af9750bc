import path from 'node:path';
import type { PythonExecutionRequest } from '../api/request.ts';
import type { OpenArtifact } from './files.ts';
import { RecordFolder } from './folder.ts';
import { FILES } from './names.ts';
import { ExecutionRecord } from './record.ts';
import type { NotebookLinks } from './notebook-links.ts';

export interface RecordsSettings {
  /** `file_paths.agent_data_dir`. */
  readonly agentDataDir: string;
  /** `file_paths.executed_python_scripts_dir`, inside that directory. */
  readonly scriptsDir?: string;
  /** Makes the links under which people open notebooks. */
  readonly links: NotebookLinks;
  /** The version of the Python that runs the code. */
  readonly pythonVersion: string;
  /** Opens files that runs wrote: `host.artifacts.open`. */
  readonly openArtifact?: OpenArtifact;
}

/** The records of a service: one folder per request. */
export class Records {
  readonly #settings: RecordsSettings;
  readonly #rootName: string;

  constructor(settings: RecordsSettings) {
    this.#settings = settings;
    this.#rootName = settings.scriptsDir ?? 'executed_scripts';
  }

  /** Creates a folder, or opens the one that the request continues in, and writes the request's context there. */
  async begin(request: PythonExecutionRequest): Promise<ExecutionRecord> {
    const { existingExecutionFolder: existing, executionFolderName: name } = request;
    const folder =
      existing === null
        ? await RecordFolder.create(this.#root, name, new Date())
        : await RecordFolder.open(this.#root, existing);
    if (existing === null || request.capabilityContextData !== null) {
      await folder.writeJson(FILES.context, request.capabilityContextData ?? {});
    }
    return this.#record(folder, request);
  }

  /** The record of a request that started in this process or another. */
  async open(folderPath: string, request: PythonExecutionRequest): Promise<ExecutionRecord> {
    return this.#record(await RecordFolder.open(this.#root, folderPath), request);
  }

  get #root(): string {
    return path.resolve(this.#settings.agentDataDir, this.#rootName);
  }

  #record(folder: RecordFolder, request: PythonExecutionRequest): ExecutionRecord {
    const { pythonVersion, links, openArtifact } = this.#settings;
    return new ExecutionRecord({ folder, request, pythonVersion, links, openArtifact });
  }
}

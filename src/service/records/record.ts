import type { Execution, Json } from '../../execution/execution.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import { readPayload } from '../../engine/python-files.ts';
import type { PythonExecutionRequest } from '../api/request.ts';
import type { Attempt, AttemptStage, PythonExecutionSuccess } from '../api/result.ts';
import { saveFigures, type SavedFigures } from './figures.ts';
import type { OpenArtifact } from './files.ts';
import { saveFiles, type SavedFiles } from './files.ts';
import type { RecordFolder } from './folder.ts';
import { attemptHeader, failureHeader, successHeader, type HeaderFacts, type ReviewContext } from './notebooks.ts';
import { copyInputs, readInput, type InputFile } from './inputs.ts';
import { executionMetadata, type FailureReport } from './metadata.ts';
import { attemptName, attemptNumberOf, attemptPrefix, FILES, FOLDERS, previewName } from './names.ts';
import type { NotebookLinks } from './notebook-links.ts';
import { attemptNotebook, finalNotebook, type NotebookParts } from './notebooks.ts';

export type NotebookType =
  | 'code_generation_attempt'
  | 'pre_execution'
  | 'execution_attempt'
  | 'final_success'
  | 'final_failure';

/** A written notebook. */
export interface NotebookAttempt {
  readonly notebookType: NotebookType;
  readonly attemptNumber: number;
  readonly stage: AttemptStage | 'failed';
  readonly notebookPath: string;
  readonly notebookLink: string;
  readonly errorContext: string | null;
  readonly createdAt: string;
}

/** What is known about an attempt besides its code and its run. */
export interface AttemptDetails {
  readonly executionMode?: string;
  readonly executionMethod?: string;
  /** The interpreter or the kernel that ran the code. */
  readonly python?: string;
  readonly startedAt?: Date;
  /** What the run printed and displayed, in order. Without it, text comes first. */
  readonly outputs?: readonly TranscriptItem[];
  readonly review?: ReviewContext;
}

export interface SuccessDetails extends AttemptDetails {
  readonly results: Readonly<Record<string, Json>>;
}

export interface FailureDetails extends AttemptDetails {
  readonly failure: FailureReport;
  /** The last attempt, if any code was generated. */
  readonly attempt?: Attempt;
}

export interface RecordParts {
  readonly folder: RecordFolder;
  readonly request: PythonExecutionRequest;
  readonly pythonVersion: string;
  readonly links: NotebookLinks;
  readonly openArtifact?: OpenArtifact | undefined;
}

const TYPES: Readonly<Record<AttemptStage, NotebookType>> = {
  syntax_error: 'code_generation_attempt',
  static_analysis_failed: 'code_generation_attempt',
  awaiting_approval: 'pre_execution',
  execution_failed: 'execution_attempt',
  results_invalid: 'execution_attempt',
  succeeded: 'execution_attempt',
};

/** The record of one request, in one folder. Recording the same thing again only overwrites it. */
export class ExecutionRecord {
  readonly #parts: RecordParts;

  constructor(parts: RecordParts) {
    this.#parts = parts;
  }

  get folderPath(): string {
    return this.#parts.folder.path;
  }

  /** 0 if there is none. A request that continues in an earlier folder counts on from this number. */
  get latestAttemptNumber(): number {
    return this.#parts.folder
      .list(FOLDERS.attempts)
      .reduce((latest, name) => Math.max(latest, attemptNumberOf(name) ?? 0), 0);
  }

  /** Writes the notebook of an attempt. There is one per number and stage, however often it is recorded. */
  async recordAttempt(attempt: Attempt, details: AttemptDetails = {}): Promise<NotebookAttempt> {
    const { number, stage } = attempt;
    const header = attemptHeader(attempt, this.#headerFacts(details));
    const text = attemptNotebook(await this.#notebookParts(header, attempt, details));
    const path = await this.#parts.folder.write(this.#attemptFile(attempt), text, FOLDERS.attempts);
    const name = path.slice(this.folderPath.length + 1);
    const beside = [FILES.context];
    return this.#written({ type: TYPES[stage], number, stage, error: attempt.error ?? null, name, beside });
  }

  /** Copies the request's files into the folder, so that the code sees exactly what the reviewer was told about. */
  keepInputs(files: Readonly<Record<string, string>>): Promise<InputFile[]> {
    return copyInputs(this.#parts.folder, files);
  }

  openInput(input: InputFile): AsyncIterable<Uint8Array> {
    return readInput(this.#parts.folder, input);
  }

  /** Keeps the run of a preview, so that approving it commits exactly this run. */
  async keepPreview(attempt: number, content: string): Promise<void> {
    await this.#parts.folder.write(previewName(attempt), content);
  }

  /** Null if there is none. */
  readPreview(attempt: number): Promise<string | null> {
    return this.#parts.folder.read(previewName(attempt));
  }

  /** Writes figures, files, results, metadata, the attempt's notebook and, last, the final notebook. */
  async recordSuccess(
    attempt: Attempt & { readonly execution: Execution },
    details: SuccessDetails,
  ): Promise<PythonExecutionSuccess> {
    const { folder } = this.#parts;
    const { execution } = attempt;
    const { figures, files } = await this.#saveArtifacts(execution);
    await folder.writeJson(FILES.results, details.results);
    await this.#writeMetadata(attempt, details, { figures, files });
    await this.recordAttempt(attempt, details);
    const header = successHeader(attempt, this.#headerFacts(details));
    const parts = await this.#notebookParts(header, attempt, details);
    await folder.write(FILES.notebook, finalNotebook({ ...parts, results: details.results, figures: figures.names }));
    const { notebookPath, notebookLink: link } = await this.#written({
      type: 'final_success',
      ...attempt,
      name: FILES.notebook,
      beside: [FILES.context, FILES.results, ...figures.names],
    });
    return {
      results: details.results,
      stdout: execution.logs.stdout,
      stderr: execution.logs.stderr,
      executionTime: execution.durationMs / 1000,
      folderPath: folder.path,
      notebookPath,
      notebookLink: link,
      figurePaths: figures.paths,
      filePaths: files.paths,
    };
  }

  /** Writes figures, files, metadata and, last, the final notebook. Removes the results of an earlier request in the folder. */
  async recordFailure(details: FailureDetails): Promise<NotebookAttempt> {
    const { folder } = this.#parts;
    const { attempt, failure } = details;
    const { figures, files } = await this.#saveArtifacts(attempt?.execution);
    folder.remove(FILES.results);
    await this.#writeMetadata(attempt, details, { figures, files });
    const number = attempt?.number ?? 0;
    const header = failureHeader(failure, number, this.#headerFacts(details));
    const parts = await this.#notebookParts(header, attempt, details);
    await folder.write(FILES.notebook, finalNotebook({ ...parts, figures: figures.names }));
    return this.#written({
      type: 'final_failure',
      number,
      stage: 'failed',
      error: failure.errorMessage,
      name: FILES.notebook,
      beside: [FILES.context, ...figures.names],
    });
  }

  async #saveArtifacts(execution: Execution | undefined): Promise<SavedArtifacts> {
    const { folder, openArtifact } = this.#parts;
    return {
      figures: await saveFigures(folder, execution, openArtifact),
      files: await saveFiles(folder, execution, openArtifact),
    };
  }

  /** The existing notebook of this attempt, or a new name. */
  #attemptFile({ number, stage }: Attempt): string {
    const prefix = attemptPrefix(number, stage);
    const isSame = (name: string): boolean => name.startsWith(prefix) && attemptNumberOf(name) === number;
    return this.#parts.folder.list(FOLDERS.attempts).find(isSame) ?? attemptName(number, stage, new Date());
  }

  async #writeMetadata(
    attempt: Attempt | undefined,
    details: AttemptDetails & { readonly failure?: FailureReport },
    artifacts: SavedArtifacts,
  ): Promise<void> {
    const { executionMode = null, executionMethod = null, python = null, failure } = details;
    const execution = attempt?.execution;
    const startedAt = startOf(details, execution);
    const endedAt = new Date(startedAt.getTime() + (execution?.durationMs ?? 0));
    const facts = { startedAt, endedAt, execution, failure, executionMode, executionMethod, python, ...artifacts };
    await this.#parts.folder.writeJson(FILES.metadata, executionMetadata(facts));
  }

  #headerFacts({ executionMode, review }: AttemptDetails): HeaderFacts {
    return { request: this.#parts.request, time: new Date(), executionMode: executionMode ?? null, review };
  }

  async #notebookParts(
    header: NotebookParts['header'],
    attempt: Attempt | undefined,
    details: AttemptDetails,
  ): Promise<NotebookParts> {
    return {
      header,
      attempt,
      outputs: details.outputs,
      startedAt: startOf(details, attempt?.execution),
      contextLoader: await readPayload('context'),
      pythonVersion: this.#parts.pythonVersion,
    };
  }

  async #written({ type, number, stage, error = null, name, beside }: Written): Promise<NotebookAttempt> {
    const { folder, links } = this.#parts;
    return {
      notebookType: type,
      attemptNumber: number,
      stage,
      notebookPath: `${folder.path}/${name}`,
      notebookLink: await links.linkTo(folder, [name, ...beside]),
      errorContext: error,
      createdAt: new Date().toISOString(),
    };
  }
}

interface SavedArtifacts {
  readonly figures: SavedFigures;
  readonly files: SavedFiles;
}

interface Written {
  readonly type: NotebookType;
  readonly number: number;
  readonly stage: NotebookAttempt['stage'];
  readonly error?: string | null | undefined;
  readonly name: string;
  /** The files that the notebook reads or shows. */
  readonly beside: readonly string[];
}

/** If the start is unknown, it is taken to be the duration of the run before now. */
function startOf({ startedAt }: AttemptDetails, execution: Execution | undefined): Date {
  return startedAt ?? new Date(Date.now() - (execution?.durationMs ?? 0));
}

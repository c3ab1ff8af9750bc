import os from 'node:os';
import { z } from 'zod';
import { parse } from '../../config.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import {
  accessShape,
  isolationOf,
  resolveAccess,
  weakIsolation,
  type AccessOptions,
  type GivenAccess,
} from '../access.ts';
import { isRefusal, readArguments } from '../call.ts';
import { describeSurroundings } from '../description.ts';
import { loadFigures } from '../figures.ts';
import { imagesOf } from '../images.ts';
import { LazyHost } from '../lazy.ts';
import type { CallOptions, Observation, ToolDefinition } from '../tool.ts';
import { ArtifactFolder } from './artifact-folder.ts';
import { CodeArguments, CodeTool, NO_CODE, sourceOf, Timeout, type CodeInput } from './code-tool.ts';
import { payloadOf, type CodeInterpreterPayload } from './payload.ts';
import { errorOf, ToolResult } from './result.ts';
import { tellPayload, type PayloadAdditions } from './told.ts';

/** The options of `CodeInterpreterTool`. */
export interface CodeInterpreterOptions extends AccessOptions {
  /** Longest run, in seconds. */
  readonly timeout?: number;
  /** Resident memory of a run; 0 or less for all the memory of the machine. */
  readonly memoryLimitMb?: number;
  /** Another name of `memoryLimitMb`. */
  readonly memory_limit_mb?: number;
  /** Where the files of runs are kept; by default in the data directory, for a week. */
  readonly artifactDir?: string;
  /** Lists plots under `files` as well, as everything else that the code wrote; true by default. */
  readonly plotsInFiles?: boolean;
  /** Shared with others and not closed here; without it the tool starts its own. */
  readonly host?: Host | null;
}

const EMPTY: CodeInterpreterPayload = { stdout: '', stderr: '', files: [], plots: [], dataframes: [] };

/** Python itself does not fit into less. */
const LEAST_MEMORY_MB = 16;
const MemoryLimit = z
  .int()
  .refine((mb) => mb <= 0 || mb >= LEAST_MEMORY_MB, `must be at least ${LEAST_MEMORY_MB}, or 0 for no limit`);

const Options = z.strictObject({
  timeout: Timeout,
  memoryLimitMb: MemoryLimit.optional(),
  memory_limit_mb: MemoryLimit.optional(),
  artifactDir: z.string().min(1).optional(),
  plotsInFiles: z.boolean().default(true),
  ...accessShape,
});

/** Runs each piece of code in its own session and returns everything as one JSON text. Copies of its files are kept. */
export class CodeInterpreterTool extends CodeTool {
  readonly name = 'code_interpreter';
  readonly #timeoutMs: number;
  readonly #memoryMb: number;
  readonly #plotsInFiles: boolean;
  readonly #access: GivenAccess;
  readonly #folder: ArtifactFolder;
  readonly #host: LazyHost;

  constructor({ host, ...options }: CodeInterpreterOptions = {}) {
    super();
    const { timeout, artifactDir, plotsInFiles, mounts, network, env, ...memory } = parse(Options, options);
    this.#access = { mounts, network, env };
    this.#timeoutMs = Math.ceil(timeout * 1000);
    this.#memoryMb = memoryMbOf(memory.memoryLimitMb ?? memory.memory_limit_mb ?? 256);
    this.#plotsInFiles = plotsInFiles;
    this.#folder = new ArtifactFolder(artifactDir);
    this.#host = new LazyHost(host ?? undefined, { limits: { memoryMb: this.#memoryMb } }); // so that its pool has sessions of this size
  }

  /** Errors of the code are part of the result, together with all output. */
  async run(input: CodeInput, options: Pick<CallOptions, 'signal'> = {}): Promise<ToolResult> {
    const { payload, error, execution } = await this.#run(input, options);
    return new ToolResult(JSON.stringify(payload), error, execution && weakIsolation(execution.isolation));
  }

  async define(): Promise<ToolDefinition> {
    const host = await this.#host.get();
    const access = resolveAccess(this.#access, host);
    const surroundings = describeSurroundings({
      environment: host.environment,
      isolation: isolationOf(host, access),
      mounts: access.mounts,
      timeoutMs: this.#timeoutMs,
      memoryMb: this.#memoryMb,
      keeps: 'nothing',
    });
    return {
      name: this.name,
      description: [
        'Executes Python code and returns JSON with stdout, stderr, files, plots and dataframes.',
        surroundings,
        'Write self-contained scripts, print what matters, and interpret the output; figures are captured, saved or not.',
        'If the code fails, its traceback is in stderr: fix it and retry once.',
      ].join(' '),
      parameters: {
        type: 'object',
        properties: {
          code: { type: 'string', description: 'Python code to execute in the sandboxed interpreter' },
        },
        required: ['code'],
      },
    };
  }

  async call(args: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<Observation> {
    const read = readArguments(CodeArguments, args);
    if ('refusal' in read) return observe(EMPTY, { error: read.refusal.text });
    const { payload, error, execution } = await this.#run(read.value, options);
    const figures = execution === undefined ? [] : await loadFigures(execution, (await this.#host.get()).artifacts);
    const additions = { ...(error !== null && { error }), ...(execution && weakIsolation(execution.isolation)) };
    return { ...observe(payload, additions), ...imagesOf(figures) };
  }

  /** Closes the host if the tool started it. Files of runs stay. */
  close(): Promise<void> {
    return this.#host.close();
  }

  async #run(input: CodeInput, { signal }: Pick<CallOptions, 'signal'>): Promise<CodeRunReport> {
    const source = sourceOf(input);
    if (source === '') return { payload: EMPTY, error: NO_CODE };
    try {
      return await this.#runOnce(source, signal);
    } catch (error) {
      if (isRefusal(error)) return { payload: EMPTY, error: error.message };
      throw error;
    }
  }

  async #runOnce(source: string, signal: AbortSignal | undefined): Promise<CodeRunReport> {
    const host = await this.#host.get();
    const execution = await host.runOnce(source, {
      echo: 'none',
      initCode: null,
      limits: { timeoutMs: this.#timeoutMs, memoryMb: this.#memoryMb },
      ...resolveAccess(this.#access, host),
      ...(signal && { signal }),
    });
    const payload = await payloadOf({
      execution,
      artifacts: host.artifacts,
      folder: await this.#folder.beginRun(),
      plotsInFiles: this.#plotsInFiles,
    });
    return { payload, error: errorOf(execution), execution };
  }
}

interface CodeRunReport {
  readonly payload: CodeInterpreterPayload;
  readonly error: string | null;
  readonly execution?: Execution;
}

/** The model reads the same JSON as programs do, also if the code failed or did not run. */
function observe(payload: CodeInterpreterPayload, additions: PayloadAdditions): Observation {
  const complete = { ...payload, ...additions };
  return { text: tellPayload(complete), payload: complete, isError: additions.error !== undefined };
}

/** No limit means the memory of the machine. */
function memoryMbOf(limit: number): number {
  return limit > 0 ? limit : Math.floor(os.totalmem() / 2 ** 20);
}

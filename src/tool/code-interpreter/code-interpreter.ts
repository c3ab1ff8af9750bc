import os from 'node:os';
import { z } from 'zod';
import { parse } from '../../config.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { forModel } from '../../text/for-model.ts';
import { isAnswer, readArguments, refuse } from '../answers.ts';
import { describeSurroundings } from '../description.ts';
import { accessShape, isolationOf, resolveAccess, weakWalls, type AccessOptions } from '../place/access.ts';
import { LazyEngine } from '../place/lazy-engine.ts';
import { toAnthropicTool, toOpenAITool, type AnthropicTool, type OpenAITool } from '../schema-forms.ts';
import type { CallOptions, Observation, Tool, ToolDefinition } from '../tool.ts';
import { ArtifactFolder } from './artifact-folder.ts';
import { errorOf } from './outcome.ts';
import { payloadOf, type CodeInterpreterPayload } from './payload.ts';
import { ToolResult } from './tool-result.ts';

export interface CodeInterpreterOptions extends AccessOptions {
  /** Seconds that a run may take. */
  readonly timeout?: number;
  /** Resident memory of a run; 0 or less for no limit but the machine's memory. */
  readonly memoryLimitMb?: number;
  readonly memory_limit_mb?: number;
  /** Where the files of runs are put and stay; without it a place in the data directory, for a week. */
  readonly artifactDir?: string;
  /** Lists plots under `files` as well. */
  readonly plotsInFiles?: boolean;
  /** Shared; without it the tool starts one of its own. */
  readonly engine?: Host | null;
}

/** Code under either of its names: some agents call it `input`. */
export interface CodeInput {
  readonly code?: string | undefined;
  readonly input?: string | undefined;
}

const NO_CODE = 'No code provided.';
const EMPTY: CodeInterpreterPayload = { stdout: '', stderr: '', files: [], plots: [], dataframes: [] };

const MAX_LISTED = 20;

/** Below this not even Python fits. */
const LEAST_MEMORY_MB = 16;
const MemoryLimit = z
  .int()
  .refine((mb) => mb <= 0 || mb >= LEAST_MEMORY_MB, `must be at least ${LEAST_MEMORY_MB}, or 0 for no limit`);

const Options = z.strictObject({
  timeout: z
    .number()
    .positive()
    .max(24 * 3600)
    .default(5),
  memoryLimitMb: MemoryLimit.optional(),
  memory_limit_mb: MemoryLimit.optional(),
  artifactDir: z.string().min(1).optional(),
  plotsInFiles: z.boolean().default(false),
  ...accessShape,
});
export const CodeArguments = z.strictObject({ code: z.string().optional(), input: z.string().optional() });

/** Runs each snippet in a session of its own and gives everything back as one JSON text. Its files stay. */
export class CodeInterpreterTool implements Tool, AsyncDisposable {
  readonly name = 'code_interpreter';
  readonly #timeoutMs: number;
  readonly #memoryMb: number;
  readonly #plotsInFiles: boolean;
  readonly #access: Pick<z.infer<typeof Options>, 'mounts' | 'network' | 'environment'>;
  readonly #folder: ArtifactFolder;
  readonly #engine: LazyEngine;

  constructor({ engine, ...options }: CodeInterpreterOptions = {}) {
    const { timeout, artifactDir, plotsInFiles, mounts, network, environment, ...memory } = parse(Options, options);
    this.#access = { mounts, network, environment };
    this.#timeoutMs = Math.ceil(timeout * 1000);
    this.#memoryMb = memoryMbOf(memory.memoryLimitMb ?? memory.memory_limit_mb ?? 256);
    this.#plotsInFiles = plotsInFiles;
    this.#folder = new ArtifactFolder(artifactDir);
    this.#engine = new LazyEngine(engine ?? undefined, { limits: { memoryMb: this.#memoryMb } }); // so that its pool fits
  }

  /** What the code does is in the result: an error comes with all the output there was. */
  async run(input: CodeInput, options: Pick<CallOptions, 'signal'> = {}): Promise<ToolResult> {
    const { payload, error, execution } = await this.#run(input, options);
    return new ToolResult(JSON.stringify(payload), error, execution && weakWalls(execution.isolation));
  }

  async define(): Promise<ToolDefinition> {
    const engine = await this.#engine.get();
    const access = resolveAccess(this.#access, engine);
    const surroundings = describeSurroundings({
      environment: engine.environment,
      isolation: isolationOf(engine, access),
      mounts: access.mounts,
      timeoutMs: this.#timeoutMs,
      memoryMb: this.#memoryMb,
      keeps: 'nothing',
    });
    return {
      name: this.name,
      description: [
        'Executes Python code and returns stdout, stderr, files, plots and dataframes.',
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

  /** The definition as OpenAI has it. */
  async schema(): Promise<OpenAITool> {
    return toOpenAITool(await this.define());
  }

  async anthropic_schema(): Promise<AnthropicTool> {
    return toAnthropicTool(await this.define());
  }

  async call(args: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<Observation> {
    const read = readArguments(CodeArguments, args);
    if ('refusal' in read) return read.refusal;
    const { payload, error, execution } = await this.#run(read.value, options);
    if (execution === undefined) return refuse(error ?? NO_CODE, { ...payload, error });
    const told = forModel(execution, { tables: 'shown' }); // they are gone by the next call
    return {
      text: [told, ...listPlots(payload)].join('\n'),
      payload: { ...payload, ...(error !== null && { error }), ...weakWalls(execution.isolation) },
      isError: error !== null,
    };
  }

  /** Ends the engine if it is the tool's own; files of runs stay. */
  close(): Promise<void> {
    return this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run({ code, input }: CodeInput, { signal }: Pick<CallOptions, 'signal'>): Promise<Report> {
    const source = code || input || '';
    if (source === '') return { payload: EMPTY, error: NO_CODE };
    try {
      return await this.#runOnce(source, signal);
    } catch (error) {
      if (isAnswer(error)) return { payload: EMPTY, error: error.message };
      throw error;
    }
  }

  async #runOnce(source: string, signal: AbortSignal | undefined): Promise<Report> {
    const engine = await this.#engine.get();
    const execution = await engine.runOnce(source, {
      echo: 'none',
      initCode: null,
      limits: { timeoutMs: this.#timeoutMs, memoryMb: this.#memoryMb },
      ...resolveAccess(this.#access, engine),
      ...(signal && { signal }),
    });
    const payload = await payloadOf({
      execution,
      artifacts: engine.artifacts,
      folder: await this.#folder.beginRun(),
      plotsInFiles: this.#plotsInFiles,
    });
    return { payload, error: errorOf(execution), execution };
  }
}

interface Report {
  readonly payload: CodeInterpreterPayload;
  readonly error: string | null;
  readonly execution?: Execution;
}

/** Where the host finds them: a model can only point to what it has seen the path of. */
function listPlots({ plots }: CodeInterpreterPayload): string[] {
  if (plots.length === 0) return [];
  const more = plots.length > MAX_LISTED ? `, and ${plots.length - MAX_LISTED} more` : '';
  const paths = plots.slice(0, MAX_LISTED).map((plot) => plot.path);
  return [`[plots saved as ${paths.join(', ')}${more}]`];
}

/** No limit is still one: what the machine has. */
function memoryMbOf(limit: number): number {
  return limit > 0 ? limit : Math.floor(os.totalmem() / 2 ** 20);
}

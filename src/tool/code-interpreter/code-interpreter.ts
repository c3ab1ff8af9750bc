import os from 'node:os';
import { z } from 'zod';
import { Limits, parse } from '../../config.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Interpreter } from '../../session/interpreter.ts';
import { forModel } from '../../text/for-model.ts';
import { isAnswer, readArguments, refuse } from '../answers.ts';
import { describeSurroundings } from '../description.ts';
import { LazyEngine } from '../lazy-engine.ts';
import type { CallOptions, Observation, Tool, ToolDefinition } from '../tool.ts';
import { ArtifactFolder } from './artifact-folder.ts';
import { errorOf } from './outcome.ts';
import { payloadOf, type CodeInterpreterPayload } from './payload.ts';
import { ToolResult } from './tool-result.ts';

export interface CodeInterpreterOptions {
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
  readonly engine?: Interpreter;
}

/** Code under either of its names: some agents call it `input`. */
export interface CodeInput {
  readonly code?: string | undefined;
  readonly input?: string | undefined;
}

const NO_CODE = 'No code provided.';
const EMPTY: CodeInterpreterPayload = { stdout: '', stderr: '', files: [], plots: [], dataframes: [] };

const Options = z.strictObject({
  timeout: z
    .number()
    .positive()
    .max(24 * 3600)
    .default(5),
  memoryLimitMb: z.int().optional(),
  memory_limit_mb: z.int().optional(),
  artifactDir: z.string().min(1).optional(),
  plotsInFiles: z.boolean().default(false),
});
export const CodeArguments = z.strictObject({ code: z.string().optional(), input: z.string().optional() });

/** Runs each snippet in a session of its own and gives everything back as one JSON text. Its files stay. */
export class CodeInterpreterTool implements Tool, AsyncDisposable {
  readonly name = 'code_interpreter';
  readonly #timeoutMs: number;
  readonly #memoryMb: number;
  readonly #plotsInFiles: boolean;
  readonly #folder: ArtifactFolder;
  readonly #engine: LazyEngine;

  constructor({ engine, ...options }: CodeInterpreterOptions = {}) {
    const { timeout, artifactDir, plotsInFiles, ...memory } = parse(Options, options);
    this.#timeoutMs = Math.ceil(timeout * 1000);
    this.#memoryMb = memoryMbOf(memory.memoryLimitMb ?? memory.memory_limit_mb ?? 256);
    this.#plotsInFiles = plotsInFiles;
    this.#folder = new ArtifactFolder(artifactDir);
    this.#engine = new LazyEngine(engine, { limits: { memoryMb: this.#memoryMb } }); // so that its pool fits
  }

  /** What the code does is in the result: an error comes with all the output there was. */
  async run(input: CodeInput, options: Pick<CallOptions, 'signal'> = {}): Promise<ToolResult> {
    const { payload, error } = await this.#run(input, options);
    return new ToolResult(JSON.stringify(payload), error);
  }

  async define(): Promise<ToolDefinition> {
    const { environment, isolation } = await this.#engine.get();
    const surroundings = describeSurroundings({
      environment,
      isolation,
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

  async call(args: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<Observation> {
    const read = readArguments(CodeArguments, args);
    if ('refusal' in read) return read.refusal;
    const { payload, error, execution } = await this.#run(read.value, options);
    if (execution === undefined) return refuse(error ?? NO_CODE, { ...payload, error });
    return {
      text: forModel(execution),
      payload: error === null ? { ...payload } : { ...payload, error },
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

/** No limit is still one: what the machine has. */
function memoryMbOf(limit: number): number {
  return limit > 0 ? parse(Limits.shape.memoryMb.unwrap(), limit) : Math.floor(os.totalmem() / 2 ** 20);
}

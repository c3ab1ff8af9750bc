import { z } from 'zod';
import { parse } from '../../config.ts';
import type { PythonExecutionRequest } from '../api/request.ts';
import type { CodeGenerator, ExecutionFailure, GenerateOptions } from './generator.ts';
import { MOCK_BEHAVIORS, mockProgram } from './mock-programs.ts';

const MockSettings = z.strictObject({
  behavior: z.enum(MOCK_BEHAVIORS).default('success').describe('What happens to the generated code'),
  code: z.string().optional().describe('Code to return instead'),
  code_sequence: z
    .array(z.string())
    .min(1)
    .optional()
    .describe('Codes to return one after the other; the last one repeats'),
});
export type MockSettings = z.input<typeof MockSettings>;

/** One call of a generator. */
export interface GeneratorCall {
  readonly request: PythonExecutionRequest;
  readonly errorChain: readonly ExecutionFailure[];
}

/** Generates predefined code without a model, to test what is built around a generator. */
export class MockGenerator implements CodeGenerator {
  readonly #settings;
  readonly #calls: GeneratorCall[] = [];
  #codes: readonly string[] = [];
  #given = 0;

  constructor(settings: MockSettings = {}) {
    this.#settings = parse(MockSettings, settings);
    const { code, code_sequence: sequence } = this.#settings;
    if (sequence !== undefined) this.setCodeSequence(sequence);
    else if (code !== undefined) this.setCode(code);
  }

  /** All calls so far, in order. */
  get calls(): readonly GeneratorCall[] {
    return this.#calls;
  }

  /** Returns this code from now on. */
  setCode(code: string): void {
    this.setCodeSequence([code]);
  }

  /** Returns these codes one after the other, then repeats the last one. With none, its `behavior` applies again. */
  setCodeSequence(codes: readonly string[]): void {
    this.#codes = codes;
    this.#given = 0;
  }

  generateCode(
    request: PythonExecutionRequest,
    errorChain: readonly ExecutionFailure[],
    { signal, onToken }: GenerateOptions = {},
  ): Promise<string> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    this.#calls.push({ request, errorChain: [...errorChain] });
    const code = this.#next() ?? mockProgram(this.#settings.behavior, request, errorChain.length);
    onToken?.(code);
    return Promise.resolve(code);
  }

  #next(): string | undefined {
    const code = this.#codes[Math.min(this.#given, this.#codes.length - 1)];
    this.#given += 1;
    return code;
  }
}

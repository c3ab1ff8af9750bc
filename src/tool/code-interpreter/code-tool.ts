/** What the tools that run a piece of code have in common. */
import { z } from 'zod';
import { toAnthropicTool, type AnthropicTool } from '../formats/anthropic.ts';
import { toOpenAITool, type OpenAITool } from '../formats/openai.ts';
import type { CallOptions, Observation, Tool, ToolDefinition } from '../tool.ts';

/** The code, under either name: some agents call it `input`. */
export interface CodeInput {
  /** The code to run. */
  readonly code?: string | undefined;
  /** Another name of `code`. */
  readonly input?: string | undefined;
}

export const CodeArguments = z.strictObject({ code: z.string().optional(), input: z.string().optional() });

export const NO_CODE = 'No code provided.';

/** Longest run, in seconds. */
export const Timeout = z
  .number()
  .positive()
  .max(24 * 3600)
  .default(5);

export function sourceOf({ code, input }: CodeInput): string {
  return code || input || '';
}

export abstract class CodeTool implements Tool, AsyncDisposable {
  abstract readonly name: string;
  abstract define(): Promise<ToolDefinition>;
  abstract call(args: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<Observation>;
  abstract close(): Promise<void>;

  /** The definition in OpenAI's format. */
  async schema(): Promise<OpenAITool> {
    return toOpenAITool(await this.define());
  }

  async anthropic_schema(): Promise<AnthropicTool> {
    return toAnthropicTool(await this.define());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

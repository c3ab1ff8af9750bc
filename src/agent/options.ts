/** What agents are made with. */
import { z } from 'zod';
import { parse } from '../config.ts';
import { VivariumError } from '../errors.ts';
import type { Tool } from '../tool/tool.ts';
import type { Llm } from '../model/openai.ts';

/** What bounds an agent. */
export interface AgentLimits {
  /** How often the model may write before it must have an answer. */
  readonly maxIterations?: number;
  /** What the model sees of one tool's answer, in characters; head and tail are kept. */
  readonly maxToolContentLength?: number;
  /** Longest one call of a tool may take. */
  readonly toolTimeoutMs?: number;
  /** Steps that `memory` keeps. */
  readonly maxSteps?: number;
  /** Whose interpreter its tools use. By itself each agent has an id, hence interpreters, of its own. */
  readonly clientId?: string;
}

export interface AskOptions {
  /** Stops the model and the tool that runs. */
  readonly signal?: AbortSignal;
}

export interface FunctionCallingAgentOptions extends AgentLimits {
  readonly llm: Llm;
  readonly tools?: readonly Tool[];
  readonly systemPrompt?: string;
  /** The name of `systemPrompt` in examples written for Python. */
  readonly system_prompt?: string;
  /** The name of `maxIterations` in examples written for Python. */
  readonly max_iterations?: number;
}

const bounds = {
  maxIterations: z.int().min(1).default(10),
  maxToolContentLength: z.int().min(100).default(10_000),
  toolTimeoutMs: z.int().positive().max(86_400_000).default(3_600_000),
  maxSteps: z.int().min(1).default(200),
  clientId: z.string().min(1).max(500).optional(),
};

const Llm = z.custom<Llm>(
  (llm) => typeof llm === 'object' && llm !== null && ('connect' in llm || 'invoke' in llm),
  'must be a chat model of LangChain, or an OpenAILLM',
);

const FunctionCallingOptions = z.strictObject({
  ...bounds,
  llm: Llm,
  tools: z
    .array(z.custom<Tool>((tool) => typeof tool === 'object' && tool !== null && 'define' in tool && 'call' in tool))
    .default([]),
  systemPrompt: z.string().default('You are a helpful AI assistant.'),
});
type FunctionCallingOptions = Readonly<z.infer<typeof FunctionCallingOptions>>;

/** What bounds an agent, nothing left open. */
export type AgentBounds = Pick<FunctionCallingOptions, keyof typeof bounds>;

/** A chat-like agent: instructions, a memory of what was said, and tools that come later. */
export interface AgentOptions extends AgentLimits {
  readonly name: string;
  readonly instructions?: string;
  /** By itself the one that the environment names; see `defaultModel`. */
  readonly model?: Llm;
  /** How much of what was said before the model is told again, in characters. */
  readonly maxHistoryChars?: number;
}

const NamedAgentOptions = z.strictObject({
  ...bounds,
  name: z.string().min(1),
  instructions: z.string().default('You are a helpful AI assistant.'),
  model: Llm.optional(),
  maxHistoryChars: z.int().nonnegative().default(200_000),
});
type NamedAgentOptions = Readonly<z.infer<typeof NamedAgentOptions>>;

export function parseFunctionCalling(options: FunctionCallingAgentOptions): FunctionCallingOptions {
  const { system_prompt, max_iterations, ...others } = options;
  const aliases = {
    ...(system_prompt !== undefined && { systemPrompt: system_prompt }),
    ...(max_iterations !== undefined && { maxIterations: max_iterations }),
  };
  for (const name of Object.keys(aliases)) {
    if (!(name in others)) continue;
    throw new VivariumError('CONFIG_INVALID', `${name} is given twice, in two spellings. Leave one out.`);
  }
  return parse(FunctionCallingOptions, { ...others, ...aliases });
}

export function parseNamedAgent(options: AgentOptions): NamedAgentOptions {
  return parse(NamedAgentOptions, options);
}

/** What agents are made with. */
import { z } from 'zod';
import { parse } from '../config.ts';
import { VivariumError } from '../errors.ts';
import type { Tool } from '../tool/tool.ts';
import type { Llm } from '../model/openai.ts';
import { ToolRegistry } from './toolbox/registry.ts';

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

/** How the model calls tools: as its endpoint has it, or in words, which every model can write. */
export type AgentType = 'function_calling' | 'react';

export interface QuestionAgentOptions extends AgentLimits {
  readonly llm: Llm;
  /** Tools, or a registry that others may share and add to. */
  readonly tools?: readonly Tool[] | ToolRegistry;
  readonly systemPrompt?: string;
  /** The name of `systemPrompt` in examples written for Python. */
  readonly system_prompt?: string;
  /** The name of `maxIterations` in examples written for Python. */
  readonly max_iterations?: number;
}

/** What an `AgentExecutor` is made with. */
export interface AgentConfig extends QuestionAgentOptions {
  /** By itself `react`. */
  readonly agentType?: AgentType;
  /** The name of `agentType` in examples written for Python. */
  readonly agent_type?: AgentType;
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

const AgentType = z.enum(['function_calling', 'react']);
const Tools = z.array(
  z.custom<Tool>((tool) => typeof tool === 'object' && tool !== null && 'define' in tool && 'call' in tool),
);

const QuestionOptions = z.strictObject({
  ...bounds,
  llm: Llm,
  tools: z.union([z.instanceof(ToolRegistry), Tools]).default([]),
  systemPrompt: z.string().default('You are a helpful AI assistant.'),
});
type QuestionOptions = Readonly<z.infer<typeof QuestionOptions>>;

/** What bounds an agent, nothing left open. */
export type AgentBounds = Pick<QuestionOptions, keyof typeof bounds>;

/** A chat-like agent: instructions, a memory of what was said, and tools that come later. */
export interface AgentOptions extends AgentLimits {
  readonly name: string;
  readonly instructions?: string;
  /** By itself the one that the environment names; see `defaultModel`. */
  readonly model?: Llm;
  /** By itself `function_calling`; `react` for a model that cannot call tools. */
  readonly agentType?: AgentType;
  /** How much of what was said before the model is told again, in characters. */
  readonly maxHistoryChars?: number;
}

const NamedAgentOptions = z.strictObject({
  ...bounds,
  name: z.string().min(1),
  instructions: z.string().default('You are a helpful AI assistant.'),
  model: Llm.optional(),
  agentType: AgentType.default('function_calling'),
  maxHistoryChars: z.int().nonnegative().default(200_000),
});
type NamedAgentOptions = Readonly<z.infer<typeof NamedAgentOptions>>;

export function parseQuestionAgent(options: QuestionAgentOptions): QuestionOptions {
  return parse(
    QuestionOptions,
    inOneSpelling(options, { system_prompt: 'systemPrompt', max_iterations: 'maxIterations' }),
  );
}

/** Which kind of agent is meant, and what it is made with. */
export function parseAgentType(config: AgentConfig): { agentType: AgentType; options: QuestionAgentOptions } {
  const { agentType = 'react', ...options } = inOneSpelling(config, { agent_type: 'agentType' });
  return { agentType: parse(AgentType, agentType), options };
}

/** Names of examples written for Python under our own. */
function inOneSpelling<T extends object>(options: T, names: Readonly<Record<string, string>>): T {
  const spelled = new Map<string, unknown>();
  for (const [given, value] of Object.entries(options)) {
    const name = names[given] ?? given;
    if (value === undefined) continue;
    if (spelled.has(name)) throw givenTwice(name);
    spelled.set(name, value);
  }
  return Object.fromEntries(spelled) as T;
}

function givenTwice(name: string): VivariumError {
  return new VivariumError('CONFIG_INVALID', `${name} is given twice, in two spellings. Leave one out.`);
}

export function parseNamedAgent(options: AgentOptions): NamedAgentOptions {
  return parse(NamedAgentOptions, options);
}

/** The options of agents. */
import { z } from 'zod';
import { parse } from '../config.ts';
import { VivariumError } from '../errors.ts';
import type { Tool } from '../tool/tool.ts';
import type { Llm } from '../model/openai.ts';
import { ToolRegistry } from './tools/registry.ts';

/** The limits of an agent. */
export interface AgentLimits {
  /** Most replies of the model before it must answer. */
  readonly maxIterations?: number;
  /** Most characters of a tool's result that the model sees; head and tail are kept. */
  readonly maxToolContentLength?: number;
  /** Longest call of a tool. */
  readonly toolTimeoutMs?: number;
  /** Most steps that `memory` keeps. */
  readonly maxSteps?: number;
  /** The client id that its tools are called with. Default: each agent has its own id, and so its own interpreters. */
  readonly clientId?: string;
}

/** The options of one question. */
export interface AskOptions {
  /** Stops the model and the running tool. */
  readonly signal?: AbortSignal;
}

/** How the model calls tools: natively by its endpoint, or as text, which every model can write. */
export type AgentType = 'function_calling' | 'react';

/** The options of agents that answer one question at a time. */
export interface SingleTurnOptions extends AgentLimits {
  /** The model that answers. */
  readonly llm: Llm;
  /** Tools, or a registry that several agents share. */
  readonly tools?: readonly Tool[] | ToolRegistry;
  /** What the model is told before the question. */
  readonly systemPrompt?: string;
  /** Another name of `systemPrompt`, for examples written for Python. */
  readonly system_prompt?: string;
  /** Another name of `maxIterations`, for examples written for Python. */
  readonly max_iterations?: number;
}

/** The options of `AgentExecutor`. */
export interface AgentConfig extends SingleTurnOptions {
  /** Default: `react`. */
  readonly agentType?: AgentType;
  /** Another name of `agentType`, for examples written for Python. */
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
  'must be a LangChain chat model, or an OpenAILLM',
);

const AgentType = z.enum(['function_calling', 'react']);
const Tools = z.array(
  z.custom<Tool>((tool) => typeof tool === 'object' && tool !== null && 'define' in tool && 'call' in tool),
);

const SingleTurnSettings = z.strictObject({
  ...bounds,
  llm: Llm,
  tools: z.union([z.instanceof(ToolRegistry), Tools]).default([]),
  systemPrompt: z.string().default('You are a helpful AI assistant.'),
});
type SingleTurnSettings = Readonly<z.infer<typeof SingleTurnSettings>>;

/** The limits with all defaults filled in. */
export type AgentBounds = Pick<SingleTurnSettings, keyof typeof bounds>;

/** The options of `Agent`. Tools are added later. */
export interface AgentOptions extends AgentLimits {
  /** The name of the agent, which the model is told. */
  readonly name: string;
  /** What the agent is to do, which the model is told. */
  readonly instructions?: string;
  /** Default: the model that the environment names; see `defaultModel`. */
  readonly model?: Llm;
  /** Default: `function_calling`. Use `react` for a model without native tool calling. */
  readonly agentType?: AgentType;
  /** Most characters of the earlier conversation that are sent to the model. */
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

export function parseSingleTurn(options: SingleTurnOptions): SingleTurnSettings {
  return parse(
    SingleTurnSettings,
    inOneSpelling(options, { system_prompt: 'systemPrompt', max_iterations: 'maxIterations' }),
  );
}

/** The type of the agent, and its other options. */
export function parseAgentType(config: AgentConfig): { agentType: AgentType; options: SingleTurnOptions } {
  const { agentType = 'react', ...options } = inOneSpelling(config, { agent_type: 'agentType' });
  return { agentType: parse(AgentType, agentType), options };
}

/** Replaces the names from Python by ours. */
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
  return new VivariumError('CONFIG_INVALID', `${name} is given in two spellings. Remove one.`);
}

export function parseNamedAgent(options: AgentOptions): NamedAgentOptions {
  return parse(NamedAgentOptions, options);
}

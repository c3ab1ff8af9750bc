import { randomUUID } from 'node:crypto';
import { OpenAILLM, type Llm } from '../model/openai.ts';
import type { Tool } from '../tool/tool.ts';
import { Loop } from './loop.ts';
import type { AgentBounds, AgentType } from './options.ts';
import { NATIVE } from './protocol/native.ts';
import type { Protocol } from './protocol/protocol.ts';
import { REACT } from './protocol/react/react.ts';
import { AgentMemory } from './step/memory.ts';
import { ToolRegistry } from './toolbox/registry.ts';
import { Toolbox } from './toolbox/toolbox.ts';

/** What every agent is made of. */
export interface AgentParts {
  readonly clientId: string;
  readonly memory: AgentMemory;
  readonly toolbox: Toolbox;
  readonly loop: Loop;
}

/** What an agent works with. */
export interface Equipment {
  readonly llm: Llm;
  readonly tools: readonly Tool[] | ToolRegistry;
  readonly agentType: AgentType;
}

/** The model that the environment names, not before it is asked: an agent may be made before that is complete. */
export const LATER: Llm = { connect: () => new OpenAILLM().connect() };

const PROTOCOLS: Readonly<Record<AgentType, Protocol>> = { function_calling: NATIVE, react: REACT };

export function assemble({ llm, tools, agentType }: Equipment, bounds: AgentBounds): AgentParts {
  const { maxIterations, maxSteps, maxToolContentLength, toolTimeoutMs } = bounds;
  const clientId = bounds.clientId ?? `agent-${randomUUID()}`;
  const memory = new AgentMemory(maxSteps);
  const registry = tools instanceof ToolRegistry ? tools : new ToolRegistry(tools);
  const toolbox = new Toolbox(registry, { context: { clientId }, maxToolContentLength, toolTimeoutMs });
  const loop = new Loop({ llm, protocol: PROTOCOLS[agentType], toolbox, memory, maxIterations });
  return { clientId, memory, toolbox, loop };
}

import { randomUUID } from 'node:crypto';
import type { Tool } from '../tool/tool.ts';
import { Loop } from './loop.ts';
import type { Llm } from '../model/openai.ts';
import type { AgentBounds } from './options.ts';
import { AgentMemory } from './step/memory.ts';
import { Toolbox } from './toolbox.ts';

/** What every agent is made of. */
export interface AgentParts {
  readonly clientId: string;
  readonly memory: AgentMemory;
  readonly toolbox: Toolbox;
  readonly loop: Loop;
}

export function assemble(llm: Llm, tools: readonly Tool[], bounds: AgentBounds): AgentParts {
  const { maxIterations, maxSteps, maxToolContentLength, toolTimeoutMs } = bounds;
  const clientId = bounds.clientId ?? `agent-${randomUUID()}`;
  const memory = new AgentMemory(maxSteps);
  const toolbox = new Toolbox(tools, { context: { clientId }, maxToolContentLength, toolTimeoutMs });
  return { clientId, memory, toolbox, loop: new Loop({ llm, toolbox, memory, maxIterations }) };
}

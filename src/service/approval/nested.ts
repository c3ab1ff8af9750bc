import { isDeepStrictEqual } from 'node:util';
import { Command, interrupt } from '@langchain/langgraph';
import { parseRequest, type PythonExecutionRequestInput } from '../request.ts';
import type { PythonServiceResult } from '../result.ts';
import type { Progressed, PythonExecutorService } from '../service.ts';
import type { ServiceConfig } from '../thread.ts';

export interface NestedCall {
  readonly service: PythonExecutorService;
  readonly request: PythonExecutionRequestInput;
  readonly config: ServiceConfig;
  readonly logger?: { info(message: string): void } | undefined;
  readonly capabilityName?: string | undefined;
}

/**
 * Calls the service from a node of another graph. When somebody must approve, that graph is interrupted with the question;
 * resumed with the answer, its node runs again, finds the request where it waits, and goes on with it. A request that was
 * decided elsewhere meanwhile gives its result.
 */
export async function handleServiceWithInterrupts(call: NestedCall): Promise<PythonServiceResult> {
  const { service, request, config, logger, capabilityName = 'capability' } = call;
  let settled = await findOrBegin(service, request, config);
  while (settled.status !== 'completed') {
    const { id, payload } = settled.approval;
    logger?.info(`${capabilityName} waits for approval ${id}`);
    const answer: unknown = interrupt({ ...(payload as object), approval_id: id });
    logger?.info(`${capabilityName} goes on: approval ${id} was answered`);
    settled = await service.run(new Command({ resume: answer }), { ...config, isNested: true });
  }
  return settled.result;
}

async function findOrBegin(
  service: PythonExecutorService,
  request: PythonExecutionRequestInput,
  config: ServiceConfig,
): Promise<Progressed> {
  const standing = await service.standing(config);
  if (standing === null || !isDeepStrictEqual(standing.request, parseRequest(request)))
    return service.run(request, config);
  const { approval, decisions, settled } = standing;
  if (settled !== undefined && decisions.direct > 0) return settled();
  if (approval === null) return service.run(request, config);
  // LangGraph gives the answers of this node again, in their order: those that were used up come first.
  for (let used = 0; used < decisions.nested; used += 1) interrupt(null);
  return { status: 'awaiting-approval', approval };
}

import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import type { Job } from '../execution/job.ts';
import type { ServiceState, Verdict } from '../graph/state.ts';
import { tell, type Parts } from './parts.ts';

/** The code of a request as it is to be run. */
export function jobOf(
  { configuration }: Parts,
  { code, request, verdict, isApproved }: ServiceState & { readonly verdict: Verdict },
  config: LangGraphRunnableConfig,
): Job {
  const { execution, python_executor: limits } = configuration.framework;
  return {
    code,
    mode: verdict.mode,
    settings: execution.modes[verdict.mode],
    approvedKinds: isApproved ? verdict.approvedKinds : [],
    context: request.capabilityContextData,
    expected: request.expectedResults,
    timeoutMs: Math.ceil(limits.execution_timeout_seconds * 1000),
    isPreview: false,
    signal: config.signal,
    onEvent: (event) => {
      if (event.type === 'output') tell(config, event);
    },
  };
}

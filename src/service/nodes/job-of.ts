import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import type { Job } from '../execution/job.ts';
import type { ServiceState, Verdict } from '../graph/state.ts';
import type { InputFile } from '../records/inputs.ts';
import { tell, type Parts } from './parts.ts';

/** The code of a request as it is to be run. */
export function jobOf(
  parts: Parts,
  state: ServiceState & { readonly verdict: Verdict },
  config: LangGraphRunnableConfig,
): Job {
  const { code, request, verdict, isApproved, inputs } = state;
  const { execution, python_executor: limits } = parts.configuration.framework;
  return {
    code,
    mode: verdict.mode,
    settings: execution.modes[verdict.mode],
    approvedKinds: isApproved ? verdict.approvedKinds : [],
    context: request.capabilityContextData,
    files: inputs.map((input) => ({ name: input.name, read: () => contentOf(parts, state, input) })),
    expected: request.expectedResults,
    timeoutMs: Math.ceil(limits.execution_timeout_seconds * 1000),
    maxResultsBytes: limits.max_results_mb * 2 ** 20,
    isPreview: false,
    signal: config.signal,
    onEvent: (event) => {
      if (event.type === 'output') tell(config, event);
    },
  };
}

async function* contentOf(parts: Parts, state: ServiceState, input: InputFile): AsyncGenerator<Uint8Array> {
  yield* (await parts.record(state)).openInput(input);
}

import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { asFailure, handleFailure } from './after-failure.ts';
import { report, type Dependencies } from './dependencies.ts';
import type { ServiceState, Update } from './state.ts';

/** Generates code for the request, or takes the code that came with it. */
export async function generate(
  dependencies: Dependencies,
  state: ServiceState,
  config: LangGraphRunnableConfig,
): Promise<Update> {
  const fresh: Update = { attempt: state.attempt + 1, verdict: null, isApproved: false, approvalId: null };
  const { approvedCode } = state.request;
  if (approvedCode !== null) return { ...fresh, code: approvedCode, next: 'analyze' };
  report(config, { type: 'status', stage: 'generation', text: 'Generating Python code...' });
  try {
    const generator = await dependencies.generator();
    const code = await generator.generateCode(state.request, state.failures, {
      signal: config.signal,
      onToken: (text) => report(config, { type: 'token', text }),
      sandbox: { ...(await dependencies.sandbox(state.method)), files: state.inputs },
    });
    return { ...fresh, code, next: 'analyze' };
  } catch (error) {
    config.signal?.throwIfAborted();
    const failed = { ...state, ...fresh, code: '' };
    const update = await handleFailure(dependencies, failed, {
      during: 'generation',
      stage: 'generation',
      error: asFailure(error, dependencies, state),
      signal: config.signal,
    });
    return { ...fresh, code: '', ...update };
  }
}

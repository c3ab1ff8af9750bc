import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import type { ServiceState, Update } from '../graph/state.ts';
import { afterFailing, asFailure } from './failing.ts';
import { tell, type Parts } from './parts.ts';

/** Has code written for the request, or takes the code that came with it. */
export async function generate(parts: Parts, state: ServiceState, config: LangGraphRunnableConfig): Promise<Update> {
  const fresh: Update = { attempt: state.attempt + 1, verdict: null, isApproved: false, approvalId: null };
  const { approvedCode } = state.request;
  if (approvedCode !== null) return { ...fresh, code: approvedCode, next: 'analyze' };
  tell(config, { type: 'status', stage: 'generation', text: 'Generating Python code...' });
  try {
    const generator = await parts.generator();
    const code = await generator.generateCode(state.request, state.failures, {
      signal: config.signal,
      onToken: (text) => tell(config, { type: 'token', text }),
      sandbox: { ...(await parts.sandbox(state.method)), files: state.inputs },
    });
    return { ...fresh, code, next: 'analyze' };
  } catch (error) {
    config.signal?.throwIfAborted();
    const now = { ...state, ...fresh, code: '' };
    const failure = asFailure(error, parts, state);
    return {
      ...fresh,
      code: '',
      ...(await afterFailing(parts, now, {
        during: 'generation',
        stage: 'generation',
        error: failure,
        signal: config.signal,
      })),
    };
  }
}

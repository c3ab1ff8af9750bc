import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { forModel } from '../../text/for-model.ts';
import { effectsOf, type Effects, type Walls } from '../approval/effects.ts';
import { hashOf } from '../approval/answer.ts';
import type { JobResult } from '../execution/job.ts';
import type { ServiceState, Verdict } from '../graph/state.ts';
import { jobOf } from './job-of.ts';
import { tell, type Parts } from './parts.ts';

/** What a preview leaves for the run that it may become. */
export type Preview = Pick<JobResult, 'startedAt' | 'python' | 'execution' | 'outputs' | 'resultTypes'> & {
  readonly codeSha256: string;
};

/**
 * Runs the code behind walls before anybody approves it: no network, mounts that can only be read, a workspace that is
 * thrown away. Null where previews are off. What it gave is kept in the record: if nothing was held back, approving commits exactly that.
 */
export async function preview(
  parts: Parts,
  state: ServiceState & { readonly verdict: Verdict },
  config: LangGraphRunnableConfig,
): Promise<Effects | null> {
  const { preview: isOn } = parts.configuration.approval.capabilities.python_execution;
  if (!isOn || state.method !== 'local') return null;
  tell(config, { type: 'status', stage: 'approval', text: 'Trying the code behind walls...' });
  const { startedAt, python, execution, outputs, resultTypes, attempts } = await parts
    .executor(state.method, state.verdict.mode)
    .run({ ...jobOf(parts, { ...state, isApproved: true }, config), isPreview: true }); // as it will be once approved
  config.signal?.throwIfAborted(); // what was cut short is nothing to ask about
  const effects = effectsOf(execution, {
    told: attempts,
    text: forModel(execution, { maxChars: 3000 }),
    secrets: parts.configuration.framework.execution.modes[state.verdict.mode].environment,
    ...wallsOf(parts, state.verdict),
  });
  if (effects.isComplete) {
    const record = await parts.record(state);
    const kept: Preview = {
      codeSha256: hashOf(state.code),
      startedAt,
      python,
      execution,
      outputs,
      ...(resultTypes !== undefined && { resultTypes }),
    } as Preview;
    await record.keepPreview(state.attempt, JSON.stringify(kept));
  }
  return effects;
}

function wallsOf({ configuration }: Parts, { mode, approvedKinds }: Verdict): Walls {
  const { modes, local } = configuration.framework.execution;
  const canWrite = mode === 'write_access' && local.mounts.some(({ writable }) => writable);
  return { areWider: modes[mode].network || canWrite, hasWrites: approvedKinds.includes('domain-write') };
}

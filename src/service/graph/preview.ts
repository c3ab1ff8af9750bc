import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { forModel } from '../../text/for-model.ts';
import { effectsOf, type Effects, type PreviewLimits } from '../approval/effects.ts';
import { sha256Of } from '../../storage/approvals/approval.ts';
import type { PreviewedRun } from '../execution/job.ts';
import type { Verdict } from '../policy/analysis-result.ts';
import type { JudgedState } from './state.ts';
import { jobOf } from './execute.ts';
import { report, type Dependencies } from './dependencies.ts';

/**
 * Runs the code before anybody approves it: without network, with read-only mounts, in a workspace that is thrown away.
 * Returns null where previews are off. If the code needed nothing beyond that, its run is kept in the record, and approving
 * commits exactly that run.
 */
export async function preview(
  dependencies: Dependencies,
  state: JudgedState,
  config: LangGraphRunnableConfig,
): Promise<Effects | null> {
  const { preview: isOn } = dependencies.configuration.approval.capabilities.python_execution;
  if (!isOn || state.method !== 'local') return null;
  report(config, { type: 'status', stage: 'approval', text: 'Previewing the code in the sandbox...' });
  const { startedAt, python, execution, outputs, resultTypes, attempts } = await dependencies
    .executor(state.method, state.verdict.mode)
    .run({ ...jobOf(dependencies, { ...state, isApproved: true }, config), isPreview: true }); // as the approved run would be
  config.signal?.throwIfAborted(); // nobody is asked about a preview that was cut short
  const effects = effectsOf(execution, {
    reported: attempts,
    text: forModel(execution, { maxChars: 3000 }),
    secrets: dependencies.configuration.framework.execution.modes[state.verdict.mode].environment,
    ...limitsOf(dependencies, state.verdict),
  });
  if (effects.isComplete) {
    const record = await dependencies.record(state);
    const kept: PreviewedRun = {
      codeSha256: sha256Of(state.code),
      startedAt,
      python,
      execution,
      outputs,
      ...(resultTypes !== undefined && { resultTypes }),
    } as PreviewedRun;
    await record.keepPreview(state.attempt, JSON.stringify(kept));
  }
  return effects;
}

function limitsOf({ configuration }: Dependencies, { mode, approvedKinds }: Verdict): PreviewLimits {
  const { modes, local } = configuration.framework.execution;
  const canWrite = mode === 'write_access' && local.mounts.some(({ writable }) => writable);
  return {
    isWiderThanPreview: modes[mode].network || canWrite,
    writesToControlSystem: approvedKinds.includes('domain-write'),
  };
}

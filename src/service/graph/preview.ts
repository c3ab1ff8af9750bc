import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { forModel } from '../../text/for-model.ts';
import { effectsOf, type Effects } from '../approval/effects.ts';
import { sha256Of } from '../../storage/approvals/approval.ts';
import type { PreviewedRun } from '../execution/job.ts';
import type { JudgedState } from './state.ts';
import { jobOf } from './execute.ts';
import { report, type Dependencies } from './dependencies.ts';

/** What a preview showed, and the hash of its run if approving commits it. */
export interface Previewed {
  readonly effects: Effects | null;
  readonly previewSha256: string | null;
}

const NOTHING: Previewed = { effects: null, previewSha256: null };

/**
 * Runs the code before anybody approves it: without network, with read-only mounts, in a workspace that is thrown away.
 * Does nothing where previews are off or nothing confines them. If the code needed nothing beyond that, its run is kept in the record, and approving
 * commits exactly that run.
 */
export async function preview(
  dependencies: Dependencies,
  state: JudgedState,
  config: LangGraphRunnableConfig,
): Promise<Previewed> {
  const { preview: isOn } = dependencies.configuration.approval.capabilities.python_execution;
  if (!isOn || state.method !== 'local') return NOTHING;
  const access = await dependencies.access(state.method, state.verdict.mode);
  if (access.walls !== 'sandbox') return NOTHING; // without walls it would be the run itself, before anybody approved it
  report(config, { type: 'status', stage: 'approval', text: 'Previewing the code in the sandbox...' });
  const { startedAt, python, execution, outputs, resultTypes, attempts, leftFiles } = await dependencies
    .executor(state.method, state.verdict.mode)
    .run({ ...jobOf(dependencies, { ...state, isApproved: true }, config), isPreview: true }); // as the approved run would be
  config.signal?.throwIfAborted(); // nobody is asked about a preview that was cut short
  const effects = effectsOf(execution, {
    reported: attempts,
    leftFiles,
    text: forModel(execution, { maxChars: 3000 }),
    secrets: dependencies.configuration.framework.execution.modes[state.verdict.mode].environment,
    isWiderThanPreview: access.network !== false || access.writable.length > 0,
    writesToControlSystem: state.verdict.approvedKinds.includes('domain-write'),
  });
  if (!effects.isComplete) return { effects, previewSha256: null };
  const kept: PreviewedRun = {
    codeSha256: sha256Of(state.code),
    startedAt,
    python,
    execution,
    outputs,
    ...(resultTypes !== undefined && { resultTypes }),
  } as PreviewedRun;
  const text = JSON.stringify(kept);
  await (await dependencies.record(state)).keepPreview(state.attempt, text);
  return { effects, previewSha256: sha256Of(text) };
}

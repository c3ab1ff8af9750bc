import type { TranscriptItem } from '../../execution/transcript.ts';
import type { Execution } from '../../execution/execution.ts';
import { toNotebook, type ExportOptions } from '../../notebook/export.ts';
import { RunHistory, type RecordEnd } from '../../notebook/history.ts';
import type { Notebook } from '../../notebook/nbformat.ts';
import { resultOf, type StoredStep } from './run-store.ts';

/** The end of a step of which nobody kept how it ended: it succeeded, or it would not be here. */
const SUCCEEDED: RecordEnd = {
  outcome: { status: 'succeeded' },
  state: { status: 'preserved', generation: 0, variables: { added: [], changed: [], removed: [] } },
  durationMs: 0,
  mayHaveWritten: true,
};

/** The notebook of a session that has ended, from what is kept of its runs. */
export function pastNotebook(steps: readonly StoredStep[], options: ExportOptions): Notebook {
  const history = new RunHistory();
  for (const step of steps) {
    if (step.kind === 'reset') history.restart('it was reset');
    else if (step.kind === 'rollback') history.undo();
    else addTo(history, step);
  }
  return toNotebook(history, options);
}

function addTo(history: RunHistory, step: StoredStep): void {
  const { kind, code, echo, startedAt, mayHaveWritten } = step;
  if (kind === 'reset' || kind === 'rollback') return;
  if (kind !== 'run') {
    history.begin({ code, echo: 'none', kind, startedAt })([], SUCCEEDED);
    return;
  }
  const result = resultOf(step);
  if ('error' in result) return; // none of its code ran
  const { execution } = result;
  if (execution.state.earlier?.status === 'lost') history.onFreshInterpreter();
  const record = history.begin({ code, echo: echo ?? 'last', kind, startedAt });
  record(itemsOf(execution), { ...execution, mayHaveWritten });
}

function itemsOf({ transcript, results }: Execution): TranscriptItem[] {
  return transcript.flatMap((entry): TranscriptItem[] => {
    if (entry.type === 'text') return [{ type: 'text', stream: entry.stream, text: entry.text }];
    const result = results[entry.index];
    return result === undefined ? [] : [{ type: 'result', result }];
  });
}

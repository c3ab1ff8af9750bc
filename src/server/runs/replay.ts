import type { Event, Summary } from '../../execution/event.ts';
import type { Execution, TranscriptEntry } from '../../execution/execution.ts';

/** The events of an execution whose own are gone: the same in content, in larger pieces. */
export function* replay(execution: Execution, mayHaveWritten: boolean): Generator<Event, void, undefined> {
  const { logs, results, transcript, figures, files, truncated, ...rest } = execution;
  for (const entry of transcript) yield eventOf(entry, results);
  for (const file of files) yield { type: 'file', file };
  for (const figure of figures) yield { type: 'figure', figure };
  const summary: Summary = {
    ...rest,
    mayHaveWritten,
    outputBytes: {
      stdout: truncated?.stdout?.totalBytes ?? Buffer.byteLength(logs.stdout),
      stderr: truncated?.stderr?.totalBytes ?? Buffer.byteLength(logs.stderr),
    },
    ...(truncated?.dropped !== undefined && { dropped: truncated.dropped }),
    ...(truncated?.results !== undefined && { cut: truncated.results }),
    ...(truncated?.network !== undefined && { omittedConnections: truncated.network }),
    ...(truncated?.files !== undefined && { unseenFiles: truncated.files }),
  };
  yield { type: 'done', summary };
}

function eventOf(entry: TranscriptEntry, results: Execution['results']): Event {
  if (entry.type === 'text') return { type: 'output', stream: entry.stream, text: entry.text };
  const result = results[entry.index];
  if (result === undefined) throw new TypeError(`a transcript names result ${entry.index}, which is not there`);
  return { type: 'result', result };
}

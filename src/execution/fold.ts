import type { Event } from './event.ts';
import type { Execution, ProducedFile, Result } from './execution.ts';
import { OutputBudget } from './output-budget.ts';

/** Folds the stream of events into the one result; keeps at most `maxOutputBytes` of each stream. */
export async function foldExecution(events: AsyncIterable<Event>, maxOutputBytes: number): Promise<Execution> {
  const streams = { stdout: new OutputBudget(maxOutputBytes), stderr: new OutputBudget(maxOutputBytes) };
  const results: Result[] = [];
  const files: ProducedFile[] = [];
  let execution: Execution | undefined;
  for await (const event of events) {
    switch (event.type) {
      case 'output':
        streams[event.stream].add(event.text);
        break;
      case 'result':
        results.push(event.result);
        break;
      case 'file':
        files.push(event.file);
        break;
      case 'clear':
        results.length = 0;
        break;
      case 'done': {
        const { outputBytes: _, mayHaveWritten: __, dropped, ...summary } = event.summary;
        const truncated = {
          ...streams.stdout.truncation('stdout'),
          ...streams.stderr.truncation('stderr'),
          ...(dropped !== undefined && { dropped }),
        };
        execution = {
          ...summary,
          logs: { stdout: streams.stdout.text(), stderr: streams.stderr.text() },
          results,
          files,
          ...(Object.keys(truncated).length > 0 && { truncated }),
        };
      }
    }
  }
  if (execution === undefined) throw new TypeError('an event stream ended without `done`');
  return execution;
}

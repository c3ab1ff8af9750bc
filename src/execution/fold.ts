import type { Event } from './event.ts';
import type { Execution } from './execution.ts';
import { Transcript } from './transcript.ts';

/** Folds a stream of events into its result, which keeps at most `maxOutputBytes` of each stream. */
export async function foldExecution(events: AsyncIterable<Event>, maxOutputBytes: number): Promise<Execution> {
  const transcript = new Transcript(maxOutputBytes);
  for await (const event of events) transcript.add(event);
  return transcript.execution();
}

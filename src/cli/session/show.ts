import type { Event, Summary } from '../../execution/event.ts';
import type { Context } from '../terminal/context.ts';

/** Prints output and results as they arrive. `listener` gets every event; the result is how the run ended. */
export async function showRun(
  events: AsyncIterable<Event>,
  { stdout, stderr }: Context,
  listener?: { add(event: Event): void },
): Promise<Summary> {
  let summary: Summary | undefined;
  for await (const event of events) {
    listener?.add(event);
    switch (event.type) {
      case 'output':
        await (event.stream === 'stdout' ? stdout : stderr).relay(event.text);
        break;
      case 'clear': // a terminal cannot take back what it has shown
      case 'network':
      case 'file':
      case 'figure':
        break;
      case 'result':
        await stdout.relay(`${event.result.data['text/plain'] ?? ''}\n`);
        break;
      case 'done':
        summary = event.summary;
    }
  }
  await stdout.endRelay();
  await stderr.endRelay();
  if (summary === undefined) throw new TypeError('an event stream ended without `done`');
  return summary;
}

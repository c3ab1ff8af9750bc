import type { AgentEvent } from './events.ts';

/** The answer at the end of the events. */
export async function finalAnswer(events: AsyncIterable<AgentEvent>): Promise<string> {
  let answer: string | undefined;
  for await (const event of events) {
    if (event.type === 'final_answer') answer = event.answer;
  }
  if (answer === undefined) throw new TypeError('the steps of an agent ended without an answer');
  return answer;
}

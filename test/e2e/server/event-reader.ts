/** Reads server-sent events, as a client does. */

export interface ReceivedEvent {
  readonly id: number;
  readonly type: string;
  readonly data: { readonly [key: string]: unknown };
}

/** Events of an answer, one by one. Leaving the loop closes the connection. */
export async function* eventsOf(answer: Response): AsyncGenerator<ReceivedEvent, void, undefined> {
  let text = '';
  for await (const chunk of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) if (!frame.startsWith(':')) yield readFrame(frame);
  }
}

function readFrame(frame: string): ReceivedEvent {
  const fields = new Map(frame.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
  return {
    id: Number(fields.get('id')),
    type: fields.get('event') ?? '',
    data: JSON.parse(fields.get('data') ?? 'null') as ReceivedEvent['data'],
  };
}

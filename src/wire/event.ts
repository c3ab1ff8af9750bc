/** The stream of one run. */
import { z } from 'zod';
import type { Event } from '../execution/event.ts';
import { ProducedFigureSchema, ProducedFileSchema } from './artifact.ts';
import { NetworkConnectionSchema, SummarySchema } from './execution.ts';
import { ResultSchema } from './result.ts';
import { CountSchema, StreamSchema } from './values.ts';

const type = <const T extends string>(name: T) => z.literal(name).describe('What happened.');

export const EventSchema = z
  .discriminatedUnion('type', [
    z
      .object({
        type: type('output'),
        stream: StreamSchema.describe('The stream that it was printed to.'),
        text: z.string().describe('The text.'),
      })
      .meta({ id: 'OutputEvent', description: 'The program printed text.' }),
    z
      .object({
        type: type('result'),
        result: ResultSchema.describe('What was shown.'),
        picture: CountSchema.exactOptional().describe('The number of the picture within the run, if it is one.'),
      })
      .meta({ id: 'ResultEvent', description: 'The program showed something.' }),
    z
      .object({ type: type('clear') })
      .meta({ id: 'ClearEvent', description: 'Everything shown so far is to be dropped: `clear_output()`.' }),
    z
      .object({
        type: type('network'),
        connection: NetworkConnectionSchema.describe('The connection, without its bytes.'),
      })
      .meta({ id: 'NetworkEvent', description: 'The program wanted to reach a host, where the network is a list.' }),
    z
      .object({ type: type('file'), file: ProducedFileSchema.describe('The file.') })
      .meta({ id: 'FileEvent', description: 'The run wrote or changed a file. Sent when the code has ended.' }),
    z
      .object({ type: type('figure'), figure: ProducedFigureSchema.describe('The figure.') })
      .meta({ id: 'FigureEvent', description: 'The run showed or saved a picture. Sent when the code has ended.' }),
    z
      .object({ type: type('done'), summary: SummarySchema.describe('How it ended, and what became of the state.') })
      .meta({ id: 'DoneEvent', description: 'The run has ended. This is the last event of a stream.' }),
  ])
  .meta({
    id: 'Event',
    description: 'Something that happened while code ran. The last event of a stream is `done`.',
    examples: [{ type: 'output', stream: 'stdout', text: 'hello\n' }],
  });

const TYPES: ReadonlySet<string> = new Set(EventSchema.options.map(({ shape }) => shape.type.value));
const Typed = z.object({ type: z.string() });

/** Reads an event of a stream. Returns undefined for a type that only newer servers know, so that readers can skip it. */
export function readEvent(json: unknown): Event | undefined {
  const { data } = Typed.safeParse(json);
  return data !== undefined && !TYPES.has(data.type) ? undefined : EventSchema.parse(json);
}

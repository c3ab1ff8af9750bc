/** What a run showed: results, their order among the output, and tables. */
import { z } from 'zod';
import { CountSchema, JsonSchema, StreamSchema } from './values.ts';

export const ResultSchema = z
  .object({
    kind: z
      .enum(['result', 'display', 'figure'])
      .describe(
        '`result`: the last expression. `display`: shown by `display()`. `figure`: a plot, shown or left open.',
      ),
    data: z
      .record(z.string(), z.string())
      .describe('Its forms by MIME type, at least `text/plain`. Pictures are base64; JSON types are JSON text.'),
    chart: JsonSchema.exactOptional().describe('The data behind a picture: titles, axes and series.'),
    title: z.string().exactOptional().describe('The title of a picture.'),
  })
  .meta({
    id: 'Result',
    description: 'Something that a run showed.',
    examples: [{ kind: 'result', data: { 'text/plain': '42' } }],
  });

const timeMs = z
  .number()
  .describe('When it arrived, in milliseconds since 1970. For text, when its first part arrived.');

export const TranscriptEntrySchema = z
  .discriminatedUnion('type', [
    z
      .object({
        timeMs,
        type: z.literal('text').describe('Marks text.'),
        stream: StreamSchema.describe('The stream that it was printed to.'),
        text: z.string().describe('The text.'),
      })
      .meta({ id: 'TranscriptText', description: 'Text of one stream, up to the next thing that came between.' }),
    z
      .object({
        timeMs,
        type: z.literal('result').describe('Marks a result.'),
        index: CountSchema.describe('The position of the result in `results`.'),
      })
      .meta({ id: 'TranscriptResult', description: 'The point at which a result was shown.' }),
  ])
  .meta({ id: 'TranscriptEntry', description: 'One step of what a run printed and showed, in the order of arrival.' });

const ColumnSchema = z
  .object({
    name: z.string().describe('The name of the column.'),
    dtype: z.string().describe('The pandas type of the column, such as `int64`.'),
    missing: CountSchema.nullable().describe('How many values are missing; null if they were not counted.'),
  })
  .meta({ id: 'DataFrameColumn', description: 'A column of a DataFrame.' });

export const DataFrameSummarySchema = z
  .object({
    name: z.string().describe('The variable that holds the DataFrame.'),
    type: z.string().describe('The class of the DataFrame; a subclass keeps its own name.'),
    rows: CountSchema.describe('How many rows there are.'),
    columnCount: CountSchema.describe('How many columns there are, listed or not.'),
    columns: z.array(ColumnSchema).describe('The columns, up to a limit.'),
    preview: z.array(z.array(JsonSchema)).describe('The first rows, each a list of the values of its columns.'),
    index: z
      .array(JsonSchema)
      .optional()
      .describe('The labels of the rows in `preview`, if they are not just numbers.'),
    repr: z.string().describe('The DataFrame as pandas prints it.'),
    note: z.string().optional().describe('What was left out of this summary.'),
  })
  .meta({ id: 'DataFrameSummary', description: 'A DataFrame that a run created or changed.' });

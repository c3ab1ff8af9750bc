/** One run of code, with everything that it produced. */
import { z } from 'zod';
import type { Execution } from '../execution/execution.ts';
import { ProducedFigureSchema, ProducedFileSchema, SpillSchema } from './artifact.ts';
import { OutcomeSchema, PythonErrorSchema } from './outcome.ts';
import { DataFrameSummarySchema, ResultSchema, TranscriptEntrySchema } from './result.ts';
import { IsolationSchema, StateReceiptSchema } from './session.ts';
import { CountSchema, JsonSchema } from './values.ts';

export const StreamBytesSchema = z
  .object({
    stdout: CountSchema.describe('Bytes of standard output.'),
    stderr: CountSchema.describe('Bytes of standard error.'),
  })
  .meta({ id: 'StreamBytes', description: 'A number of bytes for each stream.' });

export const TruncationSchema = z
  .object({
    totalBytes: CountSchema.describe('How many bytes were printed.'),
    keptBytes: CountSchema.describe('How many of them were kept.'),
  })
  .meta({ id: 'Truncation', description: 'How much of a stream was kept.' });

export const ResultTruncationSchema = z
  .object({
    total: CountSchema.describe('How many results the run showed.'),
    kept: CountSchema.describe('How many of them were kept: the first and the last.'),
    reduced: CountSchema.describe('How many of those lack a form or chart data that is too large.'),
    totalBytes: CountSchema.describe('The size of all results.'),
    keptBytes: CountSchema.describe('The size of what was kept.'),
  })
  .meta({ id: 'ResultTruncation', description: 'How much of what a run showed was kept.' });

export const InstalledPackageSchema = z
  .object({
    name: z.string().describe('Its name.'),
    version: z.string().describe('Its version.'),
    url: z.string().describe('Where its wheel came from.'),
    sha256: z.string().describe('The sha256 of the wheel.'),
  })
  .meta({ id: 'InstalledPackage', description: 'A package that was installed for a session.' });

export const NetworkConnectionSchema = z
  .object({
    host: z.string().describe('The name or address that was asked for; empty if none was understood.'),
    port: CountSchema.describe('The port; 0 if none was understood.'),
    address: z.string().exactOptional().describe('The address that the name led to.'),
    decision: z.enum(['allowed', 'refused']).describe('Whether the list allows it.'),
    reason: z.string().exactOptional().describe('Why it was refused, or failed although it was allowed.'),
    sentBytes: CountSchema.exactOptional().describe('Bytes that the program sent.'),
    receivedBytes: CountSchema.exactOptional().describe('Bytes that the program received.'),
  })
  .meta({ id: 'NetworkConnection', description: 'A connection that a program wanted to make.' });

const ofStreams = <S extends z.ZodType>(schema: S) => ({
  stdout: schema.exactOptional().describe('For standard output.'),
  stderr: schema.exactOptional().describe('For standard error.'),
});

const dropped = z.string().exactOptional().describe('Why some of the output never arrived.');

/** What is known only when the code has ended. */
const ending = {
  id: z.string().describe('The id of the execution.'),
  sessionId: z.string().describe('The session that it ran in.'),
  outcome: OutcomeSchema.describe('How it ended.'),
  error: PythonErrorSchema.exactOptional().describe('The exception that ended it, if one did.'),
  value: JsonSchema.exactOptional().describe('The value of `resultVariable`, if it was asked for and exists.'),
  dataframes: z.array(DataFrameSummarySchema).describe('The DataFrames that the run created or changed.'),
  state: StateReceiptSchema.describe("What happened to the session's variables."),
  spills: z
    .object(ofStreams(SpillSchema))
    .exactOptional()
    .describe('Files with the full text of each stream that is too long to show to a model.'),
  background: StreamBytesSchema.exactOptional().describe(
    'Bytes that leftover processes printed since the run before. They belong to no run and are not kept.',
  ),
  network: z
    .array(NetworkConnectionSchema)
    .exactOptional()
    .describe('The hosts that the run wanted to reach, allowed or not, where the network is a list.'),
  packages: z
    .array(InstalledPackageSchema)
    .exactOptional()
    .describe('The packages that were installed for the session since the run before.'),
  durationMs: z.number().nonnegative().describe('How long the run took, in milliseconds.'),
  isolation: IsolationSchema.describe('What confined the session, as observed.'),
};

/** Of `print("hello")`. */
const EXAMPLE: Execution = {
  id: 'f3a1c9d2',
  sessionId: 's1',
  outcome: { status: 'succeeded' },
  logs: { stdout: 'hello\n', stderr: '' },
  results: [],
  transcript: [{ timeMs: 1767323045678, type: 'text', stream: 'stdout', text: 'hello\n' }],
  dataframes: [],
  figures: [],
  files: [],
  state: { status: 'preserved', generation: 0, variables: { added: [], changed: [], removed: [] } },
  durationMs: 1.2,
  isolation: {
    level: 'namespaces',
    uid: 'own',
    files: 'private-root',
    network: 'none',
    proc: 'private',
    memory: ['cgroup', 'watchdog'],
    processes: ['cgroup'],
    cpus: ['affinity', 'cgroup'],
    disk: ['watchdog'],
    seccomp: true,
    landlock: 4,
    missing: [],
  },
};

export const ExecutionSchema = z
  .object({
    ...ending,
    logs: z
      .object({
        stdout: z.string().describe('What was printed to standard output.'),
        stderr: z.string().describe('What was printed to standard error.'),
      })
      .describe('What the run printed, each stream as one text.'),
    results: z.array(ResultSchema).describe('What the run showed, in order.'),
    transcript: z
      .array(TranscriptEntrySchema)
      .describe('What was printed and shown, in the order of arrival, without what `clear_output()` removed.'),
    figures: z
      .array(ProducedFigureSchema)
      .describe('Every picture of the run, shown, left open or saved; each is listed once.'),
    files: z.array(ProducedFileSchema).describe('The files that the run wrote or changed in the workspace.'),
    truncated: z
      .object({
        ...ofStreams(TruncationSchema),
        results: ResultTruncationSchema.exactOptional().describe('For what the run showed.'),
        dropped,
        network: CountSchema.exactOptional().describe('How many further connections are not in `network`.'),
        files: CountSchema.exactOptional().describe(
          'How many files of the workspace at least were not compared, because it has too many. Changes to them are not told.',
        ),
      })
      .exactOptional()
      .describe('Present when something is missing: how much was printed, shown and kept, or what was not looked at.'),
  })
  .meta({
    id: 'Execution',
    description: "Everything that one run of code produced, and what happened to the session's state.",
    examples: [EXAMPLE],
  });

const SavedFigureSchema = z
  .object({
    path: z.string().describe('Its path in the workspace.'),
    title: z.string().exactOptional().describe('The title of the figure.'),
    chart: JsonSchema.exactOptional().describe('The data behind the figure: titles, axes and series.'),
    picture: CountSchema.exactOptional().describe('The number of the picture of this run that shows the same figure.'),
  })
  .meta({ id: 'SavedFigure', description: 'A figure that the program saved as a file.' });

export const SummarySchema = z
  .object({
    ...ending,
    outputBytes: StreamBytesSchema.describe('How many bytes the run printed.'),
    dropped,
    cut: ResultTruncationSchema.exactOptional().describe('How much of what the run showed was left out.'),
    omittedConnections: CountSchema.exactOptional().describe('How many connections are not in `network`.'),
    unseenFiles: CountSchema.exactOptional().describe(
      'How many files of the workspace at least were not compared, because it has too many.',
    ),
    mayHaveWritten: z.boolean().describe('False if the code only read things, so that it wrote no file either.'),
    savedFigures: z.array(SavedFigureSchema).exactOptional().describe('The figures that the program saved as files.'),
  })
  .meta({ id: 'Summary', description: 'The parts of an execution that no earlier event of its stream has told.' });

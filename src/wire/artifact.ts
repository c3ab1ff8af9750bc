/** Files of sessions, and files, figures and outputs that runs produced. */
import { z } from 'zod';
import { CountSchema, JsonSchema, Sha256Schema, TimestampSchema } from './values.ts';

const size = CountSchema.describe('Its size in bytes.');
const mime = z.string().describe('Its MIME type.');

/** About the copy that is kept, or why there is none. */
const kept = {
  id: z.string().exactOptional().describe('The id of the artifact that keeps a copy.'),
  sha256: Sha256Schema.exactOptional().describe(
    'The SHA-256 of the content, in hexadecimal digits. Absent for a large file, whose copy is made after the answer.',
  ),
  notKept: z.string().exactOptional().describe('Why there is no copy.'),
};

export const ProducedFileSchema = z
  .object({
    path: z.string().describe('Its path in the workspace.'),
    sizeBytes: size,
    mime,
    change: z.enum(['created', 'changed']).describe('Whether the run created the file or changed it.'),
    ...kept,
  })
  .meta({
    id: 'ProducedFile',
    description: 'A file that a run wrote or changed. Its copy is kept under `id` until its retention ends.',
  });

export const ProducedFigureSchema = z
  .object({
    result: CountSchema.exactOptional().describe(
      'The position in `results` of the result that shows it; absent if it was only saved.',
    ),
    path: z.string().exactOptional().describe('Where in the workspace the run saved it, if it did.'),
    mime,
    sizeBytes: size,
    title: z.string().exactOptional().describe('The title of the figure.'),
    chart: JsonSchema.exactOptional().describe('The data behind the figure: titles, axes and series.'),
    ...kept,
  })
  .meta({
    id: 'ProducedFigure',
    description: 'A picture that a run showed or saved. Its copy is kept under `id` until its retention ends.',
  });

export const SpillSchema = z
  .object({
    path: z.string().exactOptional().describe('Where code in the session can read it; absent if no later run can.'),
    id: kept.id,
    sizeBytes: size,
    isCut: z.literal(true).exactOptional().describe('Present if the file holds only the beginning of the output.'),
    notKept: kept.notKept,
  })
  .meta({ id: 'Spill', description: 'A file with the full text of an output that was shortened.' });

export const ArtifactSchema = z
  .object({
    id: z.string().describe('The id that the artifact is found by.'),
    name: z.string().describe('Its path in the workspace that it came from.'),
    sizeBytes: size,
    mime,
    sha256: Sha256Schema.describe('The SHA-256 of the content, in hexadecimal digits.'),
    createdAt: TimestampSchema.describe('When it was kept, in ISO 8601.'),
    sessionId: z.string().describe('The session whose run produced it.'),
    executionId: z.string().describe('The execution that produced it.'),
    clientId: z.string().nullable().describe('The client that owns it, if one does.'),
  })
  .meta({
    id: 'Artifact',
    description: 'A file, figure or table that a run produced. It outlives its session until its retention ends.',
  });

const file = { path: z.string().describe('Its path in the workspace.'), sizeBytes: size, mime };

export const FileFactsSchema = z
  .object(file)
  .meta({ id: 'FileFacts', description: 'A file in the workspace of a session.' });

export const FileListSchema = z
  .object({
    files: z
      .array(z.object({ ...file, modifiedAt: TimestampSchema.describe('When it was last changed, in ISO 8601.') }))
      .describe('The files.'),
    skipped: z
      .array(
        z.object({
          path: z.string().describe('Its path, to be shown and not to be opened.'),
          reason: z
            .enum(['symlink', 'fifo', 'socket', 'device', 'name', 'depth', 'mount', 'hard-link', 'unreadable'])
            .describe('Why it is not listed.'),
        }),
      )
      .describe('The first files that are not listed.'),
    skippedCount: CountSchema.describe('How many files are not listed.'),
    cut: z.enum(['entries', 'time']).nullable().describe('The limit that ended the listing early, if one did.'),
  })
  .meta({ id: 'FileList', description: 'The files in the workspace of a session.' });

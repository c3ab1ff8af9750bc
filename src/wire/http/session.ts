/** Sessions over HTTP: what is sent to them and what they answer besides runs. */
import { z } from 'zod';
import { TableOptionsSchema } from '../options.ts';
import { InstalledPackageSchema } from '../execution.ts';
import { IsolationSchema, SessionInfoSchema, VariableSchema } from '../session.ts';
import { CountSchema, JsonSchema } from '../values.ts';

export const SessionViewSchema = z
  .object({
    ...SessionInfoSchema.shape,
    isolation: IsolationSchema.describe('What confines it, as observed.'),
    filesLocation: z.string().describe('Where its files are on the machine of the server.'),
  })
  .meta({ id: 'SessionView', description: 'A session.' });

export const SessionListSchema = z
  .object({ sessions: z.array(SessionInfoSchema).describe('The open sessions.') })
  .meta({ id: 'SessionList', description: 'The open sessions of a client.' });

export const VariableListSchema = z
  .object({ variables: z.array(VariableSchema).describe('The variables.') })
  .meta({ id: 'VariableList', description: 'The variables of a session.' });

export const ValuesSchema = z
  .record(z.string(), JsonSchema)
  .meta({ id: 'Values', description: 'JSON values by name.', examples: [{ limit: 10 }] });

export const CompletionRequestSchema = z
  .strictObject({
    code: z.string().describe('The code.'),
    cursor: CountSchema.exactOptional().describe('Where to complete it, in UTF-16 code units; by default at its end.'),
  })
  .meta({ id: 'CompletionRequest', description: 'Code to complete.', examples: [{ code: 'pri' }] });

export const TableRequestSchema = z
  .strictObject({
    name: z.string().min(1).describe('The variable that holds the DataFrame.'),
    ...TableOptionsSchema.shape,
  })
  .meta({ id: 'TableRequest', description: 'A DataFrame to write to an artifact.' });

export const PackageRequestSchema = z
  .strictObject({
    requirements: z
      .union([z.string(), z.array(z.string())])
      .describe('Requirements such as `polars==1.*`, or the text of a requirements file.'),
  })
  .meta({ id: 'PackageRequest', description: 'Packages to install for a session.' });

export const PackageInstallationSchema = z
  .object({
    installed: z.array(InstalledPackageSchema).describe('What was installed.'),
    there: z
      .array(z.object({ name: z.string().describe('Its name.'), version: z.string().describe('Its version.') }))
      .describe('What was asked for and is there already.'),
  })
  .meta({ id: 'PackageInstallation', description: 'What was installed for a session.' });

/** Queries are text. */
export const NotebookQuerySchema = z
  .strictObject({
    title: z.string().exactOptional().describe('The title of the notebook.'),
    kernelName: z.string().exactOptional().describe('The kernel that it names.'),
    includePast: z
      .enum(['true', 'false'])
      .exactOptional()
      .describe('Whether runs that were undone or belong to an earlier interpreter are included as text.'),
  })
  .meta({ id: 'NotebookQuery', description: 'How a notebook is exported.' });

/** The host of a server, as a client sees it. */
import { z } from 'zod';
import { Network, Packages } from '../../config.ts';
import { LimitsSchema, MountSchema } from '../options.ts';
import { IsolationSchema } from '../session.ts';

const network = Network.describe('What sessions reach: nothing (false), everything (true), or listed hosts.');
const packages = Packages.describe('What may be installed: `none`, `any`, or packages of these names.');

export const HostViewSchema = z
  .object({
    version: z.string().describe('The version of Vivarium.'),
    environment: z
      .object({
        python: z.string().describe('The interpreter.'),
        version: z.string().describe('The version of Python.'),
        source: z.string().describe('Where it comes from.'),
        libraries: z.record(z.string(), z.string()).describe('The libraries that it has, with their versions.'),
        missing: z.array(z.string()).describe('Libraries that it lacks.'),
        cacheDir: z.string().describe('Where its caches are.'),
      })
      .describe('The Python that sessions run on.'),
    limits: LimitsSchema.describe('What a session may use unless it is created with other limits.'),
    access: z
      .object({
        mounts: z.array(MountSchema).describe('What of the machine sessions see.'),
        network,
        env: z.record(z.string(), z.string()).describe('Their environment variables; only an admin sees them.'),
        packages,
      })
      .describe('What a session sees and reaches unless it is created with other settings.'),
    isolation: IsolationSchema.describe('What confines a session, as observed.'),
    ceiling: z
      .object({
        mounts: z.array(MountSchema).describe('What may be mounted, with everything inside.'),
        network,
        packages,
        limits: LimitsSchema.describe('The highest limits.'),
      })
      .nullable()
      .describe('The most that requests of this client may ask for; null if there is no such limit.'),
  })
  .meta({ id: 'HostView', description: 'The host of the server.' });

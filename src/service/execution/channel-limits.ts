import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';
import { readPayload } from '../../engine/python-files.ts';
import { pythonValue, runSource } from '../../text/code/python-code.ts';
import type { Configuration } from '../config/schema.ts';

const Limit = z.looseObject({
  min_value: z.number().optional(),
  max_value: z.number().optional(),
  max_step: z.number().nonnegative().optional(),
  writable: z.boolean().optional(),
});

/** Limits by channel. `defaults` holds for every listed channel; names that begin with "_" are no channels. */
const Database = z.looseObject({ defaults: Limit.optional() });

/**
 * Init code for sessions that may write: it checks each value against the limits of its channel. Null if limits are not
 * checked. If the database cannot be read, nothing may be written.
 */
export async function channelLimits({ control_system }: Configuration, baseDir: string): Promise<string | null> {
  const { enabled, database_path: file, allow_unlisted_channels: allowUnlisted } = control_system.limits_checking;
  if (!enabled) return null;
  const settings = { allowUnlisted, ...(await readDatabase(file && path.resolve(baseDir, file))) };
  const install = runSource({
    source: await readPayload('channel_limits'),
    name: 'channel_limits',
    file: '<channel limits>',
    result: `names["install"](${pythonValue(settings)})`,
  });
  return `if ${install}: pass`; // a statement, so that no kernel shows its value
}

interface Limits {
  readonly channels: Readonly<Record<string, Json>>;
  readonly blocked: string | null;
}

async function readDatabase(file: string | undefined): Promise<Limits> {
  if (file === undefined) return blocked('control_system.limits_checking.database_path is not set');
  try {
    const { defaults = {}, ...entries } = Database.parse(JSON.parse(await readFile(file, 'utf8')));
    const channels = Object.entries(entries).filter(([name]) => !name.startsWith('_'));
    return {
      channels: Object.fromEntries(
        channels.map(([name, limit]) => [name, Limit.parse({ ...defaults, ...Limit.parse(limit) }) as Json]),
      ),
      blocked: null,
    };
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : error instanceof Error ? error.message : '';
    return blocked(`the limits database ${file} cannot be used (${reason})`);
  }
}

function blocked(reason: string): Limits {
  return { channels: {}, blocked: reason };
}

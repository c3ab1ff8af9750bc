import { realpath } from 'node:fs/promises';
import type { MountInput } from '../../../config.ts';
import { VivariumError } from '../../../errors.ts';
import { checkMounts, type Ceiling } from './ceiling.ts';

/**
 * The mounts with links in their sources followed. A link inside of an allowed directory may lead out of it, so what is
 * there in the end is compared as well. Names outside of allowed directories are never looked up.
 */
export async function followLinks(mounts: readonly MountInput[], ceiling: Ceiling): Promise<readonly MountInput[]> {
  checkMounts(mounts, ceiling);
  const allowed = await Promise.all(
    ceiling.mounts.map(async (mount) => ({ ...mount, source: await realpath(mount.source).catch(() => mount.source) })),
  );
  const found = await Promise.all(mounts.map(async (mount) => ({ ...mount, source: await findSource(mount.source) })));
  try {
    checkMounts(found, { ...ceiling, mounts: allowed });
  } catch (cause) {
    // Where the link leads is nobody's business.
    const sources = mounts.map(({ source }) => JSON.stringify(source)).join(', ');
    throw new VivariumError('FORBIDDEN', `A link in ${sources} leads out of what may be mounted.`, { cause });
  }
  return found;
}

async function findSource(source: string): Promise<string> {
  return realpath(source).catch((cause: unknown) => {
    throw new VivariumError('CONFIG_INVALID', `The source of the mount ${JSON.stringify(source)} cannot be found.`, {
      cause,
    });
  });
}

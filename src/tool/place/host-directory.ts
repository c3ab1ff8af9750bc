import { realpath, stat } from 'node:fs/promises';
import { VivariumError } from '../../errors.ts';

/** A directory of the host itself: it is shown to sessions at its own path, so that no step of it may be a link. */
export async function resolveDirectory(option: string, directory: string): Promise<string> {
  const resolved = await realpath(directory).catch(() => null);
  const isUsable = resolved !== null && resolved !== '/' && (await stat(resolved)).isDirectory();
  if (isUsable) return resolved;
  const reason = resolved === '/' ? 'is the root of all files' : 'is not a directory that can be reached';
  throw new VivariumError('CONFIG_INVALID', `The ${option} ${directory} ${reason}. Name a directory that exists.`);
}

/** Code that makes a directory the current one. A JSON text is a Python literal, whatever is in the name. */
export function changeDirectory(directory: string): string {
  return `__import__("os").chdir(${JSON.stringify(directory)})`;
}

import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import type { Session } from '../../host/session.ts';
import { DirectoryWorkspace } from '../../workspace/directory-workspace.ts';
import { dataUri, extensionOf, isImage, type Picture } from '../pictures.ts';
import type { Workdir } from './init-code.ts';
import type { RunPythonResult } from './result.ts';

const FOLDER = '.matplotlib_figs';

interface Place {
  readonly session: Session;
  readonly workdir: Workdir | null;
}

/** Puts the figures of a run where its code finds them, and those that are images into the result. */
export async function figureFields(pictures: readonly Picture[], place: Place): Promise<Partial<RunPythonResult>> {
  if (pictures.length === 0) return {};
  const paths: string[] = [];
  for (const picture of pictures) {
    const stored = await store(picture, place);
    if (stored !== null) paths.push(stored);
  }
  const last = paths.at(-1);
  const images = pictures.filter(({ figure }) => isImage(figure));
  return {
    ...(last !== undefined && { fig_storage_path: last }),
    ...(paths.length > 1 && { fig_storage_paths: paths }),
    ...(images.length > 0 && { base64_uri: images.map(dataUri), hidden_to_model: ['base64_uri'] }),
  };
}

/** Written from outside: wherever the code has gone with `os.chdir`, and never through a link that it has laid. */
async function store({ figure, bytes }: Picture, { session, workdir }: Place): Promise<string | null> {
  const isOnlySaved = figure.result === undefined;
  if (workdir === null && isOnlySaved && figure.path !== undefined) return figure.path;
  const name = path.posix.join(FOLDER, `${randomUUID()}${extensionOf(figure.mime)}`);
  try {
    if (workdir?.isWritable) {
      const directory = new DirectoryWorkspace({ path: workdir.path, uid: process.getuid?.() ?? 0 });
      await directory.write(name, bytes);
      return name;
    }
    await session.files.upload(name, bytes);
    return workdir === null ? name : path.posix.join(workspaceOf(session), name);
  } catch (error) {
    if (error instanceof VivariumError) return null; // the code made it impossible; the picture itself is in the result
    throw error;
  }
}

/** What the code knows its own files by. */
function workspaceOf({ isolation, files }: Session): string {
  return isolation.files === 'private-root' ? '/workspace' : files.location;
}

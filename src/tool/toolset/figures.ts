import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { extensionOf, isImage } from '../../artifact/mime.ts';
import { VivariumError } from '../../errors.ts';
import type { Session } from '../../host/session.ts';
import { DirectoryWorkspace } from '../../workspace/directory-workspace.ts';
import { dataUri, type LoadedFigure } from '../figures.ts';
import type { RunPythonResult } from './result.ts';
import type { Workdir } from './setup.ts';

const FOLDER = '.matplotlib_figs';

interface FigureTarget {
  readonly session: Session;
  readonly workdir: Workdir | null;
}

/** Saves the figures of a run where later code finds them, and puts the images into the result. */
export async function figureFields(
  figures: readonly LoadedFigure[],
  target: FigureTarget,
): Promise<Partial<RunPythonResult>> {
  if (figures.length === 0) return {};
  const paths: string[] = [];
  for (const figure of figures) {
    const saved = await save(figure, target);
    if (saved !== null) paths.push(saved);
  }
  const last = paths.at(-1);
  const images = figures.filter(({ figure }) => isImage(figure));
  return {
    ...(last !== undefined && { fig_storage_path: last }),
    ...(paths.length > 1 && { fig_storage_paths: paths }),
    ...(images.length > 0 && { base64_uri: images.map(dataUri), hidden_to_model: ['base64_uri'] }),
  };
}

/** Writes from outside of the session: the code may have changed its directory, or placed links. */
async function save({ figure, bytes }: LoadedFigure, { session, workdir }: FigureTarget): Promise<string | null> {
  const isOnlySaved = figure.result === undefined;
  if (workdir === null && isOnlySaved && figure.path !== undefined) return figure.path;
  const name = path.posix.join(FOLDER, `${randomUUID()}${extensionOf(figure.mime)}`);
  try {
    if (workdir?.holdsFigures) {
      const { path: at, identity } = workdir;
      const directory = new DirectoryWorkspace({ path: at, identity, uid: process.getuid?.() ?? 0 });
      await directory.write(name, bytes);
      return name;
    }
    await session.files.upload(name, bytes);
    return workdir === null ? name : path.posix.join(workspaceOf(session), name);
  } catch (error) {
    if (error instanceof VivariumError) return null; // the code prevented it; the image itself is in the result
    throw error;
  }
}

/** The path of the workspace as the code sees it. */
function workspaceOf({ isolation, files }: Session): string {
  return isolation.files === 'private-root' ? '/workspace' : files.location;
}

import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Where people open notebooks: as files of this machine, or in a Jupyter server whose root is the data directory. */
export type LinkTarget =
  | { readonly kind: 'file' }
  | { readonly kind: 'jupyter'; readonly host: string; readonly port: number };

export interface NotebookPlace {
  /** Absolute. */
  readonly path: string;
  /** As the Jupyter server sees it: `executed_scripts/2024-07/…/notebook.ipynb`. */
  readonly inJupyter: string;
}

/** A link that opens the notebook where it is. */
export function notebookLink(place: NotebookPlace, target: LinkTarget): string {
  if (target.kind === 'file') return pathToFileURL(place.path).href;
  const steps = place.inJupyter.split(path.sep).map(encodeURIComponent).join('/');
  const host = target.host.includes(':') ? `[${target.host}]` : target.host; // an address of IPv6
  return new URL(`http://${host}:${target.port}/lab/tree/${steps}`).href;
}

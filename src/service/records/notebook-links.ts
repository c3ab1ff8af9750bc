import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { JupyterServer } from '../../engine/jupyter/server/server.ts';
import { JupyterWorkspace } from '../../engine/jupyter/server/workspace.ts';
import { VivariumError } from '../../errors.ts';
import { Once } from '../../once.ts';

/** Makes the links under which people open notebooks. */
export interface NotebookLinks {
  /** A link that opens the first of these files. The first file needs the others. */
  linkTo(record: RecordLocation, files: readonly string[]): Promise<string>;
}

export interface RecordLocation {
  /** The directory of all records, and the record's folder in it. */
  readonly root: string;
  readonly relative: string;
}

/** Links to files of this machine. */
export const FILE_LINKS: NotebookLinks = {
  linkTo: async ({ root, relative }, [notebook = '']) => pathToFileURL(path.join(root, relative, notebook)).href,
};

const MAX_BYTES = 32 << 20;
const LOOKUP_TIMEOUT_MS = 5000;

/**
 * Links into the JupyterLab of a server. The server may see the directory of records among its own files, as a container
 * does that mounts it. Otherwise the files are copied to the server. If it has no JupyterLab or cannot be reached, the link
 * is to the file on this machine, which always opens.
 */
export class JupyterLabLinks implements NotebookLinks {
  readonly #server: JupyterServer;
  readonly #rootName: string;
  /** Whether the server sees the directory of records: checked once. */
  readonly #isShared = new Once((root: string) => this.#checkShared(root));

  /** `rootName` is the name of the directory of records on the server. */
  constructor({ url, token }: { readonly url: string; readonly token: string | undefined }, rootName: string) {
    this.#server = new JupyterServer(new URL(url), token);
    this.#rootName = rootName;
  }

  async linkTo(record: RecordLocation, files: readonly string[]): Promise<string> {
    const inLab = [
      'lab',
      'tree',
      ...this.#rootName.split('/'),
      ...record.relative.split('/'),
      ...(files[0] ?? '').split('/'),
    ];
    const link = inLab.map(encodeURIComponent).join('/');
    try {
      if (!(await this.#isShared.get(record.root))) await this.#copy(record, files);
      if ((await this.#server.call('GET', link, { timeoutMs: LOOKUP_TIMEOUT_MS })).status === 200) {
        return this.#server.locate(link);
      }
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error; // a record must not fail because the server cannot show it
    }
    return FILE_LINKS.linkTo(record, files);
  }

  /** Writes a file into the directory of records and asks the server for it. */
  async #checkShared(root: string): Promise<boolean> {
    const name = `is-shared-${randomUUID()}`;
    await writeFile(path.join(root, name), '', { flag: 'wx', mode: 0o644 });
    try {
      const address = `api/contents/${[...this.#rootName.split('/'), name].map(encodeURIComponent).join('/')}?content=0`;
      return (await this.#server.call('GET', address, { timeoutMs: LOOKUP_TIMEOUT_MS })).status === 200;
    } finally {
      await rm(path.join(root, name), { force: true });
    }
  }

  async #copy({ root, relative }: RecordLocation, files: readonly string[]): Promise<void> {
    const copies = new JupyterWorkspace(this.#server, this.#rootName);
    await copies.create();
    for (const file of files) {
      const source = path.join(root, relative, file);
      const size = (await stat(source)).size;
      if (size <= MAX_BYTES) await copies.write(`${relative}/${file}`, createReadStream(source));
    }
  }
}

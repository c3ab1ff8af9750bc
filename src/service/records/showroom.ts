import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { JupyterServer } from '../../engine/jupyter/server/server.ts';
import { JupyterWorkspace } from '../../engine/jupyter/server/workspace.ts';
import { VivariumError } from '../../errors.ts';

/** Where people open notebooks. */
export interface Showroom {
  /** A link that opens the first of these files of a record; the others are what it needs. */
  show(record: Shown, files: readonly string[]): Promise<string>;
}

export interface Shown {
  /** The directory of all records, and the record's folder in it. */
  readonly root: string;
  readonly relative: string;
}

/** As files of this machine. */
export const FILES_HERE: Showroom = {
  show: async ({ root, relative }, [notebook = '']) => pathToFileURL(path.join(root, relative, notebook)).href,
};

const MAX_BYTES = 32 << 20;
const LOOK_TIMEOUT_MS = 5000;

/**
 * In the JupyterLab of a server. It may see the directory of records as its own files, as containers do that mount it; else
 * it is given copies. Where it has no JupyterLab, or is out of reach, the link is that of the file here: one that opens.
 */
export class JupyterShowroom implements Showroom {
  readonly #server: JupyterServer;
  readonly #rootName: string;
  #isShared: Promise<boolean> | undefined;

  /** `rootName`: what the directory of records is called there. */
  constructor({ url, token }: { readonly url: string; readonly token: string }, rootName: string) {
    this.#server = new JupyterServer(new URL(url), token);
    this.#rootName = rootName;
  }

  async show(record: Shown, files: readonly string[]): Promise<string> {
    const inLab = [
      'lab',
      'tree',
      ...this.#rootName.split('/'),
      ...record.relative.split('/'),
      ...(files[0] ?? '').split('/'),
    ];
    const link = inLab.map(encodeURIComponent).join('/');
    try {
      if (!(await this.#seesOurs(record.root))) await this.#copy(record, files);
      if ((await this.#server.call('GET', link, { timeoutMs: LOOK_TIMEOUT_MS })).status === 200) {
        return this.#server.locate(link);
      }
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error; // no record fails because nobody can look at it there
    }
    return FILES_HERE.show(record, files);
  }

  /** Once: puts a file among the records, and asks the server for it. */
  #seesOurs(root: string): Promise<boolean> {
    this.#isShared ??= this.#look(root).catch((error: unknown) => {
      this.#isShared = undefined;
      throw error;
    });
    return this.#isShared;
  }

  async #look(root: string): Promise<boolean> {
    const name = `is-shared-${randomUUID()}`;
    await writeFile(path.join(root, name), '', { flag: 'wx', mode: 0o644 });
    try {
      const where = `api/contents/${[...this.#rootName.split('/'), name].map(encodeURIComponent).join('/')}?content=0`;
      return (await this.#server.call('GET', where, { timeoutMs: LOOK_TIMEOUT_MS })).status === 200;
    } finally {
      await rm(path.join(root, name), { force: true });
    }
  }

  async #copy({ root, relative }: Shown, files: readonly string[]): Promise<void> {
    const there = new JupyterWorkspace(this.#server, this.#rootName);
    await there.create();
    for (const file of files) {
      const here = path.join(root, relative, file);
      const size = (await stat(here)).size;
      if (size <= MAX_BYTES) await there.write(`${relative}/${file}`, createReadStream(here));
    }
  }
}

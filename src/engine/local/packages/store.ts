import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { linkTree, TreeFacts } from './link-tree.ts';
import { unpackWheels, type Unpacker } from './unpacker.ts';

/** So long a resolution is used again before the index is asked for newer versions. */
const FRESH_MS = 3_600_000;
const STAGING = 'staging-';

const Resolution = z.object({
  resolvedAt: z.int(),
  packages: z.array(z.object({ name: z.string(), version: z.string(), url: z.string(), sha256: z.string() })),
  /** What the environment has already. */
  kept: z.array(z.object({ name: z.string(), version: z.string() })),
});
/** The wheels that requirements led to. */
export type Resolution = Readonly<z.infer<typeof Resolution>>;

/** A wheel that was fetched, and how its bytes are read. */
export interface FetchedWheel {
  readonly name: string;
  readonly sha256: string;
  readonly read: () => AsyncIterable<Uint8Array>;
}

/** The cache of packages: unpacked wheels by their sha256, and what requirements led to. No session can see it. */
export class PackageStore {
  readonly #directory: string;
  readonly #unpacker: Unpacker;
  #swept: Promise<void> | null = null;

  constructor(directory: string, unpacker: Unpacker) {
    this.#directory = directory;
    this.#unpacker = unpacker;
  }

  /** What the same requirements led to a short time ago, if all of it is still here. */
  recall(key: string): Resolution | null {
    const parsed = Resolution.safeParse(readJson(this.#path('resolutions', `${key}.json`)));
    if (!parsed.success || Math.abs(Date.now() - parsed.data.resolvedAt) > FRESH_MS) return null;
    return parsed.data.packages.every(({ sha256 }) => this.has(sha256)) ? parsed.data : null;
  }

  async remember(key: string, resolution: Resolution): Promise<void> {
    await mkdir(this.#path('resolutions'), { recursive: true });
    await replaceFile(this.#path('resolutions', `${key}.json`), JSON.stringify(resolution));
  }

  has(sha256: string): boolean {
    return existsSync(this.#path('wheels', `${sha256}.json`));
  }

  /** Unpacks wheels. Nothing of them is kept unless all can be. */
  async add(wheels: readonly FetchedWheel[], signal?: AbortSignal): Promise<void> {
    await mkdir(this.#path('wheels'), { recursive: true, mode: 0o700 });
    await (this.#swept ??= this.#sweep());
    const staging = await mkdtemp(this.#path(STAGING));
    try {
      for (const [index, wheel] of wheels.entries()) await stage(wheel, path.join(staging, `${index}.whl`), signal);
      const orders = wheels.map(({ name }, index) => ({ name, file: `${index}.whl`, target: String(index) }));
      await unpackWheels(this.#unpacker, staging, orders, signal);
      for (const [index, { sha256 }] of wheels.entries()) await this.#keep(path.join(staging, String(index)), sha256);
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  }

  /** Shows a package to a session, whose directory of packages this is. */
  async link(sha256: string, directory: string): Promise<void> {
    const facts = TreeFacts.parse(readJson(this.#path('wheels', `${sha256}.json`)));
    await linkTree(this.#path('wheels', sha256), directory, facts);
  }

  async #keep(unpacked: string, sha256: string): Promise<void> {
    const target = this.#path('wheels', sha256);
    await rename(unpacked, target).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error; // else another engine was faster
    });
    await rename(`${unpacked}.json`, `${target}.json`); // last: it says that the wheel is there
  }

  /** Removes what killed engines left. */
  async #sweep(): Promise<void> {
    for (const name of await readdir(this.#directory)) {
      if (!name.startsWith(STAGING)) continue;
      const { mtimeMs } = await stat(this.#path(name)).catch(() => ({ mtimeMs: Date.now() }));
      if (Date.now() - mtimeMs > FRESH_MS) await rm(this.#path(name), { recursive: true, force: true });
    }
  }

  #path(...names: readonly string[]): string {
    return path.join(this.#directory, ...names);
  }
}

/** Copies a wheel out of the hands of others. What counts is what arrives here. */
async function stage({ name, sha256, read }: FetchedWheel, file: string, signal?: AbortSignal): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(
    async function* () {
      for await (const chunk of read()) {
        hash.update(chunk);
        yield chunk;
      }
    },
    createWriteStream(file, { flags: 'wx', mode: 0o600 }),
    { signal },
  );
  if (hash.digest('hex') !== sha256) throw new TypeError(`the wheel of ${name} is not the one that was resolved`);
}

async function replaceFile(file: string, content: string): Promise<void> {
  const draft = `${file}.${process.pid}-${Math.random().toString(36).slice(2)}`;
  await writeFile(draft, content);
  await rename(draft, file);
}

/** Synchronous, since these files are small and a session waits: the thread pool may be busy. */
function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null; // it is not there, or damaged
  }
}

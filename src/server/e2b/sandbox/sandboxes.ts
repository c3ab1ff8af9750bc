import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Mount } from '../../../config.ts';
import type { Host } from '../../../host/host.ts';
import { VivariumError } from '../../../errors.ts';
import { keepAlive } from '../../../process-life.ts';
import type { Admission } from '../../access/admission.ts';
import type { Client } from '../../access/client.ts';
import type { CodeContext } from '../interpreter/context.ts';
import { SandboxPlaces } from '../place/place.ts';
import { mountsOf, Sandbox, type SandboxSettings } from './sandbox.ts';

const ID_SIGNS = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Fits a Host name beside the number of a port. */
const ID_LENGTH = 20;

/** A sandbox that is there, until its time is over. */
export interface RunningSandbox {
  readonly sandbox: Sandbox;
  readonly endsAt: Date;
}

interface Entry {
  readonly sandbox: Sandbox;
  endsAt: Date;
  timer: NodeJS.Timeout;
}

interface SandboxesOptions {
  /** Where their files are. */
  readonly directory: string;
  readonly host: Host;
  readonly admission: Admission;
}

/** All sandboxes of a server. */
export class Sandboxes implements AsyncDisposable {
  readonly #options: SandboxesOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #ending = new Set<Promise<void>>();
  /** Opened for the first sandbox, or at once if a server that was killed may have left something. */
  #places: Promise<SandboxPlaces> | undefined;
  #isClosed = false;

  constructor(options: SandboxesOptions) {
    this.#options = options;
    if (!existsSync(options.directory)) return;
    this.#places = SandboxPlaces.open(options.directory);
    this.#places.catch(() => undefined); // calls that need them are told
  }

  async create(settings: Omit<SandboxSettings, 'id'>, timeoutMs: number): Promise<RunningSandbox> {
    this.#places ??= SandboxPlaces.open(this.#options.directory);
    const places = await this.#places;
    const id = makeId();
    const place = await places.make(id);
    try {
      const host = this.#hostFor(settings.client, mountsOf(place));
      const sandbox = await Sandbox.open(host, { ...settings, id }, place);
      const entry = { sandbox, ...this.#deadline(id, timeoutMs) };
      this.#entries.set(id, entry);
      if (this.#isClosed) await this.#end(id);
      return entry;
    } catch (error) {
      await places.remove(id);
      throw error;
    }
  }

  find(id: string): RunningSandbox | undefined {
    return this.#entries.get(id);
  }

  all(): Sandbox[] {
    return Array.from(this.#entries.values(), ({ sandbox }) => sandbox);
  }

  /** All contexts of all sandboxes. */
  contexts(): CodeContext[] {
    return this.all().flatMap(({ contexts }) => contexts);
  }

  /** Those that a client may see: its own, or all. */
  list(client: Client): RunningSandbox[] {
    return [...this.#entries.values()].filter(({ sandbox }) => isOf(sandbox, client));
  }

  /** To a client, another's sandbox does not exist. */
  get(id: string, client: Client): RunningSandbox {
    const found = this.find(id);
    if (found !== undefined && isOf(found.sandbox, client)) return found;
    throw new VivariumError('SESSION_NOT_FOUND', `Sandbox ${id} not found`);
  }

  /** Has it end at another time from now. */
  setTimeout(id: string, timeoutMs: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    clearTimeout(entry.timer);
    Object.assign(entry, this.#deadline(id, timeoutMs));
  }

  async kill(id: string): Promise<void> {
    await this.#end(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#entries.keys()].map((id) => this.#end(id)));
    await Promise.all(this.#ending);
    const places = await this.#places?.catch(() => undefined); // calls that needed them were told
    await places?.[Symbol.asyncDispose]();
  }

  /** The host as the client sees it, with leave to mount what every session has and what is the sandbox's own. */
  #hostFor(client: Client, own: readonly Mount[]): Host {
    const { host, admission } = this.#options;
    const mounts = [...(client.ceiling?.mounts ?? []), ...host.access.mounts, ...own];
    const ceiling = client.ceiling && { ...client.ceiling, mounts };
    return admission.hostOf(host, { ...client, ceiling });
  }

  #deadline(id: string, timeoutMs: number): Pick<Entry, 'endsAt' | 'timer'> {
    const timer = setTimeout(() => void keepAlive(this.#end(id)), timeoutMs).unref();
    return { endsAt: new Date(Date.now() + timeoutMs), timer };
  }

  /** From here on nobody finds it. */
  #end(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return Promise.resolve();
    this.#entries.delete(id);
    clearTimeout(entry.timer);
    const ending = this.#close(entry.sandbox).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    return ending;
  }

  async #close(sandbox: Sandbox): Promise<void> {
    await sandbox.close();
    await (await this.#places)?.remove(sandbox.id);
  }
}

function isOf({ settings }: Sandbox, client: Client): boolean {
  return client.id === null || settings.client.id === client.id;
}

function makeId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_SIGNS[randomInt(ID_SIGNS.length)]).join('');
}

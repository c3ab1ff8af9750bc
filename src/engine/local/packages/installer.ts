import { createHash } from 'node:crypto';
import type { InstalledPackage } from '../../../execution/execution.ts';
import type { Requirement } from '../../../requirement/requirement.ts';
import type { PackageInstallation } from '../../engine.ts';
import { withoutUser } from './failures.ts';
import type { Fetcher, Wanted } from './fetcher.ts';
import type { PackageStore, Resolution } from './store.ts';

/** So many sessions of our own fetch packages at the same time. */
const FETCHERS = 3;

/** Something to install. */
export interface InstallOrder {
  readonly requirements: readonly Requirement[];
  /** What the session has got before, by name. It stays. */
  readonly installed: ReadonlyMap<string, InstalledPackage>;
  /** That of the session. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

/** Installs packages for the sessions of an engine: from the cache, or with the help of a fetcher. */
export class PackageInstaller {
  readonly #store: PackageStore;
  readonly #fetcher: Fetcher;
  readonly #waiting: (() => void)[] = [];
  #free = FETCHERS;

  constructor(store: PackageStore, fetcher: Fetcher) {
    this.#store = store;
    this.#fetcher = fetcher;
  }

  async install({ requirements, installed, directory, signal }: InstallOrder): Promise<PackageInstallation> {
    if (requirements.length === 0) return { installed: [], there: [] }; // nobody has to be asked for nothing
    const held = Object.fromEntries([...installed.values()].map(({ name, version }) => [name, version]));
    const wanted = {
      requirements: requirements.map(({ text }) => text),
      names: namesOf(requirements),
      installed: held,
    };
    const { packages, kept } = await this.#resolve(wanted, signal);
    const missing = packages.filter(({ name }) => !installed.has(name));
    signal.throwIfAborted();
    await Promise.all(missing.map(({ sha256 }) => this.#store.link(sha256, directory)));
    const there = requirements.flatMap(({ name }) => {
      const version = held[name] ?? kept.find((one) => one.name === name)?.version;
      return version === undefined ? [] : [{ name, version }];
    });
    return { installed: missing, there };
  }

  async #resolve(wanted: Wanted, signal: AbortSignal): Promise<Resolution> {
    const key = hash([...wanted.requirements].toSorted(), wanted.installed, await this.#fetcher.identity());
    const known = this.#store.recall(key);
    if (known !== null) return known;
    await this.#takeTurn(signal);
    try {
      // Another session may have asked for the same meanwhile.
      return this.#store.recall(key) ?? (await this.#fetch(key, wanted, signal));
    } finally {
      this.#endTurn();
    }
  }

  async #fetch(key: string, wanted: Wanted, signal: AbortSignal): Promise<Resolution> {
    await using fetched = await this.#fetcher.fetch(wanted, signal);
    const absent = fetched.wheels.filter(({ sha256 }) => !this.#store.has(sha256));
    if (absent.length > 0) await this.#store.add(absent, signal);
    const packages = fetched.wheels.map(({ name, version, url, sha256 }) => {
      return { name, version, url: withoutUser(url), sha256 };
    });
    const resolution = { resolvedAt: Date.now(), packages, kept: [...fetched.kept] };
    await this.#store.remember(key, resolution);
    return resolution;
  }

  async #takeTurn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      const index = this.#waiting.indexOf(resolve);
      if (index < 0) return;
      this.#waiting.splice(index, 1);
      reject(signal.reason as Error);
    };
    this.#waiting.push(resolve);
    signal.addEventListener('abort', leave, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #endTurn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

function namesOf(requirements: readonly Requirement[]): string[] {
  return [...new Set(requirements.map(({ name }) => name))];
}

function hash(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

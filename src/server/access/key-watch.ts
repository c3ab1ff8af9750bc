import type { KeyStore } from './keys.ts';

/** A removed key stops working within a second, also for what is going on with it. */
const LOOK_EVERY_MS = 400;

/** A request that is going on. */
interface Destroyable {
  destroy(): unknown;
}

/** Ends the requests that are going on with a key when the key is removed. */
export class KeyWatch implements Disposable {
  readonly #keys: Pick<KeyStore, 'list'>;
  readonly #requests = new Map<string, Set<Destroyable>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(keys: Pick<KeyStore, 'list'>) {
    this.#keys = keys;
  }

  /** Watches a request until it is disposed of. */
  watch(keyId: string, request: Destroyable): Disposable {
    const requests = this.#requests.get(keyId) ?? new Set();
    this.#requests.set(keyId, requests);
    requests.add(request);
    this.#timer ??= setInterval(() => void this.#look(), LOOK_EVERY_MS).unref();
    return {
      [Symbol.dispose]: () => {
        requests.delete(request);
        if (requests.size === 0 && this.#requests.get(keyId) === requests) this.#requests.delete(keyId);
      },
    };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** What cannot be read is taken for removed only by the next request, which is refused then. */
  async #look(): Promise<void> {
    if (this.#requests.size === 0) return;
    const keys = await this.#keys.list().catch(() => undefined);
    if (keys === undefined) return;
    const there = new Set(keys.map(({ id }) => id));
    for (const [id, requests] of this.#requests) {
      if (there.has(id)) continue;
      this.#requests.delete(id);
      for (const request of requests) request.destroy();
    }
  }
}

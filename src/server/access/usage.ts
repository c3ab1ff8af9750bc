/** What clients use at the same time, and how often they ask. Counted in this process. */
import { VivariumError } from '../../errors.ts';
import type { Client, Quotas } from './client.ts';
import { TokenBucket } from './token-bucket.ts';

/** Which sessions a client has now, by their keys. */
export type ListKeys = () => Promise<readonly string[]>;

export class Usage {
  readonly #byClient = new Map<string, ClientUsage>();

  /** 0 if the client may send a request now, or how many milliseconds it has to wait. */
  countRequest(client: Client): number {
    return this.#of(client)?.takeRequest() ?? 0;
  }

  /** Holds the place of a run until it is disposed of. */
  beginRun(client: Client): Disposable {
    return this.#of(client)?.beginRun() ?? NOTHING;
  }

  /** Holds the place of a session that is being opened, until it is disposed of. */
  async openSession(client: Client, key: string, listKeys: ListKeys): Promise<Disposable> {
    return (await this.#of(client)?.openSession(key, listKeys)) ?? NOTHING;
  }

  /** Null for whom nothing limits. What is done for a client without its key counts as well, once it has sent a request. */
  #of({ id, keyId, name, quotas }: Client): ClientUsage | null {
    const key = id ?? keyId ?? '';
    const known = this.#byClient.get(key);
    if (known !== undefined || quotas === null) return known ?? null;
    const usage = new ClientUsage(name, quotas);
    this.#byClient.set(key, usage);
    return usage;
  }
}

class ClientUsage {
  readonly #name: string;
  readonly #quotas: Quotas;
  readonly #bucket: TokenBucket | null;
  readonly #opening = new Set<string>();
  #admission: Promise<void> = Promise.resolve();
  #runs = 0;

  constructor(name: string, quotas: Quotas) {
    this.#name = name;
    this.#quotas = quotas;
    const { requestsPerSecond, burst } = quotas;
    this.#bucket = requestsPerSecond === null ? null : new TokenBucket(requestsPerSecond, burst);
  }

  takeRequest(): number {
    return this.#bucket?.take() ?? 0;
  }

  beginRun(): Disposable {
    const { maxRuns } = this.#quotas;
    if (maxRuns !== null && this.#runs >= maxRuns) {
      throw new VivariumError(
        'RATE_LIMITED',
        `The key "${this.#name}" has ${this.#runs} runs and commands going on, the most that it may have. Wait for one to end, or cancel one.`,
      );
    }
    this.#runs += 1;
    return onceDisposable(() => (this.#runs -= 1));
  }

  /** One after the other, so that two that come at once do not both take the last place. */
  async openSession(key: string, listKeys: ListKeys): Promise<Disposable> {
    const { maxSessions } = this.#quotas;
    if (maxSessions === null) return NOTHING;
    const admitted = this.#admission.then(() => this.#admit(key, listKeys, maxSessions));
    this.#admission = admitted.then(
      () => undefined,
      () => undefined,
    );
    return admitted;
  }

  async #admit(key: string, listKeys: ListKeys, maxSessions: number): Promise<Disposable> {
    const before = [...this.#opening]; // one that is opened while we look is in one of the two
    const there = new Set([...before, ...(await listKeys()), ...this.#opening]);
    if (!there.has(key) && there.size >= maxSessions) {
      throw new VivariumError(
        'SESSION_LIMIT',
        `The key "${this.#name}" has ${there.size} sessions, the most that it may have. Close one that is not needed.`,
      );
    }
    if (this.#opening.has(key)) return NOTHING; // the call that opens it holds the place
    this.#opening.add(key);
    return onceDisposable(() => this.#opening.delete(key));
  }
}

const NOTHING: Disposable = { [Symbol.dispose]: () => undefined };

function onceDisposable(act: () => void): Disposable {
  let isOver = false;
  return {
    [Symbol.dispose]: () => {
      if (isOver) return;
      isOver = true;
      act();
    },
  };
}

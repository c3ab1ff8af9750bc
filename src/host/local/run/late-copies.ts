import { messageOf } from '../../../artifact/failure.ts';
import type { LateCopy } from '../../../artifact/store.ts';

/** The copies that are still made of what the last run of a session wrote. */
export class RunLateCopies {
  readonly #underWay = new Set<Promise<void>>();
  #losses: string[] = [];

  add(copies: readonly LateCopy[]): void {
    for (const { done } of copies) {
      const settling = done.then(
        () => undefined,
        (error: unknown) => void this.#losses.push(describe(error)),
      );
      this.#underWay.add(settling);
      void settling.then(() => this.#underWay.delete(settling));
    }
  }

  /** Resolves when no copy is under way. On abort it rejects with the reason; the copies are still made. */
  async settled(signal?: AbortSignal): Promise<void> {
    if (this.#underWay.size === 0) return;
    signal?.throwIfAborted();
    const { promise, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([Promise.all(this.#underWay), promise]);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Why promised copies could not be made. Each stays until a caller has been told. */
  get losses(): readonly string[] {
    return this.#losses;
  }

  onTold(loss: string): void {
    this.#losses = this.#losses.filter((other) => other !== loss);
  }
}

function describe(error: unknown): string {
  return `of an earlier run: ${messageOf(error).replace(/\.$/, '')}`;
}

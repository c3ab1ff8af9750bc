/** What the chaos has done so far, so that a session that nothing was done to can be held to more. */

export interface Fault {
  readonly kind: string;
  /** The session whose process was hit; null if it may concern every session. */
  readonly sessionId: string | null;
}

/** A process that is killed now may be missed a little later. */
const AFTERMATH_MS = 1000;

interface PastFault extends Fault {
  readonly atMs: number;
}

export class Weather {
  readonly counts = new Map<string, number>();
  #faults: PastFault[] = [];
  readonly #lasting = new Set<Fault>();

  add(fault: Fault): void {
    this.counts.set(fault.kind, (this.counts.get(fault.kind) ?? 0) + 1);
    this.#faults.push({ ...fault, atMs: performance.now() });
  }

  /** A fault that lasts until it is cleared. */
  begin(fault: Fault): void {
    this.add(fault);
    this.#lasting.add(fault);
  }

  /** A fault is over. What it has led to may follow only now. */
  clear(fault: Fault): void {
    this.#lasting.delete(fault);
    this.#faults.push({ ...fault, atMs: performance.now() });
  }

  get total(): number {
    return this.counts.values().reduce((sum, count) => sum + count, 0);
  }

  /** Whether nothing was done to this session since it was opened. */
  isCalm(sessionId: string, openedAtMs: number): boolean {
    const concerns = (fault: Fault): boolean => fault.sessionId === null || fault.sessionId === sessionId;
    const past = this.#faults.filter(({ atMs }) => atMs + AFTERMATH_MS >= openedAtMs);
    return !past.some(concerns) && !this.#lasting.values().some(concerns);
  }

  /** Forgets what no open session can remember. */
  forgetBefore(openedAtMs: number): void {
    this.#faults = this.#faults.filter(({ atMs }) => atMs + AFTERMATH_MS >= openedAtMs);
  }
}

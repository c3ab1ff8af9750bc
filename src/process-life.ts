/**
 * When the process may end. What a host holds (processes, sockets, timers) does not keep the process alive; work that a
 * caller waits for does. When nothing is left to do, whatever is still open is closed, and then the process ends.
 */

/** The longest delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

let tasks = 0;
let timer: NodeJS.Timeout | undefined;
const opened = new Set<Closable>();

/** Something that is closed before the process ends. */
export interface Closable {
  close(): Promise<void>;
}

/** Waits for work, and keeps the process alive meanwhile. */
export async function keepAlive<T>(work: Promise<T>): Promise<T> {
  using _ = new Task();
  return await work;
}

/** Work that keeps the process alive until it is disposed of. */
export class Task implements Disposable {
  #isCounted = true;
  #isOver = false;

  constructor() {
    begin();
  }

  /** Waits for something that others do. Whether the process stays alive for that is up to them. */
  async leaveToOthers<T>(waiting: Promise<T>): Promise<T> {
    this.#count(false);
    try {
      return await waiting;
    } finally {
      if (!this.#isOver) this.#count(true);
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#count(false);
  }

  #count(isCounted: boolean): void {
    if (this.#isCounted === isCounted) return;
    this.#isCounted = isCounted;
    if (isCounted) begin();
    else end();
  }
}

/** Closes something when the process has nothing left to do, unless the registration is disposed of before. */
export function closeBeforeExit(closable: Closable): Disposable {
  if (opened.size === 0) process.on('beforeExit', closeOpened);
  opened.add(closable);
  return {
    [Symbol.dispose]: () => {
      if (opened.delete(closable) && opened.size === 0) process.off('beforeExit', closeOpened);
    },
  };
}

function begin(): void {
  tasks += 1;
  if (tasks > 1) return;
  timer ??= setInterval(() => undefined, LONGEST_MS);
  timer.ref();
}

function end(): void {
  tasks -= 1;
  if (tasks === 0) timer?.unref();
}

/** Node emits `beforeExit` again once everything is closed. */
function closeOpened(): void {
  const closables = [...opened];
  opened.clear();
  process.off('beforeExit', closeOpened);
  for (const closable of closables) void keepAlive(closable.close()).catch(warn);
}

function warn(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  process.emitWarning(`Something could not be closed when the process ended: ${reason}`, {
    code: 'VIVARIUM_NOT_CLOSED',
  });
}

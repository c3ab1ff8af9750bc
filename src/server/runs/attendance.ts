/** Notices when nobody waits for something any more. */
export class Attendance {
  readonly #patienceMs: number;
  readonly #onDesertion: () => void;
  #count = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  /** `onDesertion` is called when nobody has waited for so long. Until the first one comes, there is all the time. */
  constructor(patienceMs: number, onDesertion: () => void) {
    this.#patienceMs = patienceMs;
    this.#onDesertion = onDesertion;
  }

  /** Somebody waits, until this is disposed of. */
  join(): Disposable {
    this.#count += 1;
    clearTimeout(this.#timer);
    let isHere = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHere) return;
        isHere = false;
        this.#count -= 1;
        if (this.#count === 0 && !this.#isOver) this.#timer = setTimeout(this.#onDesertion, this.#patienceMs);
      },
    };
  }

  /** There is nothing left to wait for. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

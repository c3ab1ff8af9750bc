/** An honest session beside the attacked ones. It must go on answering, whatever they do. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Execution } from '../../src/execution/execution.ts';
import { Metronome } from './metronome.ts';

const PAUSE_MS = 20;
const MOST_MS = 1000;
/** A machine is too busy to blame us for a wait if we could not run for this part of it. */
const BUSY_SHARE = 0.2;

export class Witness implements AsyncDisposable {
  readonly #run: (code: string) => Promise<Execution>;
  readonly #metronome = new Metronome();
  readonly #problems: string[] = [];
  readonly #asking: Promise<void>;
  #isOver = false;
  #answers = 0;
  #slowestMs = 0;
  #excused = 0;

  private constructor(run: (code: string) => Promise<Execution>) {
    this.#run = run;
    this.#asking = this.#ask();
  }

  static async start(run: (code: string) => Promise<Execution>): Promise<Witness> {
    await run('state = 42');
    return new Witness(run);
  }

  /** What it has suffered so far. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  get summary(): string {
    const excused = this.#excused === 0 ? '' : ` (${this.#excused} times over a second while the machine was busy)`;
    return `a witness answered ${this.#answers} times, at the slowest after ${Math.round(this.#slowestMs)} ms${excused}`;
  }

  /** Its session must be open until then. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#asking;
    await this.#metronome[Symbol.asyncDispose]();
  }

  /** Nobody waits for it before the end, so whatever goes wrong is a problem. */
  async #ask(): Promise<void> {
    while (!this.#isOver) {
      const startedAt = performance.now();
      const lostMs = this.#metronome.lostMs;
      const { results, state } = await this.#run('state');
      const tookMs = performance.now() - startedAt;
      this.#answers += 1;
      this.#slowestMs = Math.max(this.#slowestMs, tookMs);
      if (tookMs > MOST_MS) this.#judgeWait(tookMs, this.#metronome.lostMs - lostMs);
      if (results[0]?.data['text/plain'] !== '42' || state.generation !== 1)
        this.#problems.push(`the witness was told "${state.reason ?? state.status}"`);
      await sleep(PAUSE_MS);
    }
  }

  #judgeWait(tookMs: number, lostMs: number): void {
    if (lostMs > BUSY_SHARE * tookMs) this.#excused += 1;
    else this.#problems.push(`the witness waited ${Math.round(tookMs)} ms on an idle machine`);
  }
}

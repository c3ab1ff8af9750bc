/** An engine with an honest session beside the attacked one. It must go on answering, whatever is sent. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Laboratory, type Subject } from '../e2e/engine/laboratory.ts';
import { Metronome } from './metronome.ts';

const PAUSE_MS = 20;
const MOST_MS = 1000;
/** A machine is too busy to blame us for a wait if one that only sleeps could not run for this part of it. */
const BUSY_SHARE = 0.2;

export class Witness implements AsyncDisposable {
  readonly laboratory: Laboratory;
  readonly #subject: Subject;
  readonly #metronome = new Metronome();
  readonly #problems: string[] = [];
  readonly #asking: Promise<void>;
  #isOver = false;
  #answers = 0;
  #slowestMs = 0;
  #excused = 0;

  private constructor(laboratory: Laboratory, subject: Subject) {
    this.laboratory = laboratory;
    this.#subject = subject;
    this.#asking = this.#ask();
  }

  static async start(): Promise<Witness> {
    const laboratory = await Laboratory.start();
    const subject = await laboratory.open();
    await subject.run('state = 42');
    return new Witness(laboratory, subject);
  }

  /** What it has suffered so far. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  get summary(): string {
    const excused = this.#excused === 0 ? '' : ` (${this.#excused} times over a second while the machine was busy)`;
    return `a witness answered ${this.#answers} times, at the slowest after ${Math.round(this.#slowestMs)} ms${excused}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#asking;
    await this.laboratory.close();
    await this.#metronome[Symbol.asyncDispose]();
  }

  /** Nobody waits for it before the end, so whatever goes wrong is a problem. */
  async #ask(): Promise<void> {
    while (!this.#isOver) {
      const startedAt = performance.now();
      const oversleptMs = this.#metronome.oversleptMs;
      const { results, state } = await this.#subject.run('state');
      const tookMs = performance.now() - startedAt;
      this.#answers += 1;
      this.#slowestMs = Math.max(this.#slowestMs, tookMs);
      if (tookMs > MOST_MS) this.#judgeWait(tookMs, this.#metronome.oversleptMs - oversleptMs);
      if (results[0]?.data['text/plain'] !== '42' || state.generation !== 1)
        this.#problems.push(`the witness was told "${state.reason ?? state.status}"`);
      await sleep(PAUSE_MS);
    }
  }

  #judgeWait(tookMs: number, oversleptMs: number): void {
    if (oversleptMs > BUSY_SHARE * tookMs) this.#excused += 1;
    else this.#problems.push(`the witness waited ${Math.round(tookMs)} ms on an idle machine`);
  }
}

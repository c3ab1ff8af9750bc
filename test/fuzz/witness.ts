/** An engine with an honest session beside the attacked one. It must go on answering, whatever is sent. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Laboratory, type Subject } from '../e2e/engine/laboratory.ts';

const PAUSE_MS = 20;

export class Witness implements AsyncDisposable {
  readonly laboratory: Laboratory;
  readonly #subject: Subject;
  readonly #mostMs: number;
  readonly #problems: string[] = [];
  readonly #asking: Promise<void>;
  #isOver = false;
  #answers = 0;
  #slowestMs = 0;

  private constructor(laboratory: Laboratory, subject: Subject, mostMs: number) {
    this.laboratory = laboratory;
    this.#subject = subject;
    this.#mostMs = mostMs;
    this.#asking = this.#ask();
  }

  /** One that has to wait longer than `mostMs` for an answer has a problem. */
  static async start(mostMs: number): Promise<Witness> {
    const laboratory = await Laboratory.start();
    const subject = await laboratory.open();
    await subject.run('state = 42');
    return new Witness(laboratory, subject, mostMs);
  }

  /** What it has suffered so far. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  get summary(): string {
    return `a witness answered ${this.#answers} times, at the slowest after ${Math.round(this.#slowestMs)} ms`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#asking;
    await this.laboratory.close();
  }

  /** Nobody waits for it before the end, so whatever goes wrong is a problem. */
  async #ask(): Promise<void> {
    while (!this.#isOver) {
      const startedAt = performance.now();
      const { results, state } = await this.#subject.run('state');
      const tookMs = performance.now() - startedAt;
      this.#answers += 1;
      this.#slowestMs = Math.max(this.#slowestMs, tookMs);
      if (tookMs > this.#mostMs) this.#problems.push(`the witness waited ${Math.round(tookMs)} ms`);
      if (results[0]?.data['text/plain'] !== '42' || state.generation !== 1)
        this.#problems.push(`the witness was told "${state.reason ?? state.status}"`);
      await sleep(PAUSE_MS);
    }
  }
}

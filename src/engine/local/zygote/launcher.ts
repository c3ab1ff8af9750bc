import type { LocalEngineOptions } from '../options.ts';
import type { Premises } from '../premises/premises.ts';
import { configureZygote, spawnZygote, type ZygoteProcess } from './process.ts';

/** A process that is about to become a zygote. */
export interface Launched {
  /** No zygote takes the places of one before it. */
  readonly name: string;
  readonly process: ZygoteProcess;
}

/** Starts the zygotes of one engine, one after the other, and tells each what it is to be. */
export class ZygoteLauncher implements Disposable {
  readonly #options: LocalEngineOptions;
  readonly #premises: Premises;
  #headStart: ZygoteProcess | undefined;
  #prepared: Launched | undefined;
  #count = 0;

  constructor(options: LocalEngineOptions, premises: Premises) {
    this.#options = options;
    this.#premises = premises;
    this.#headStart = options.headStart;
  }

  /** Starts the next one before it is asked for. */
  prepare(): void {
    this.#prepared = this.#launch();
  }

  next(): Launched {
    const prepared = this.#prepared;
    this.#prepared = undefined;
    return prepared ?? this.#launch();
  }

  /** Ends what nobody asked for. */
  [Symbol.dispose](): void {
    this.#prepared?.process.child.kill('SIGKILL');
  }

  #launch(): Launched {
    const { config, python, cacheDir } = this.#options;
    const { instance, sessionsDir, reception } = this.#premises;
    this.#count += 1;
    const name = `${instance}.${this.#count}`;
    const process = this.#takeHeadStart() ?? spawnZygote(python, cacheDir);
    const { isolation, cgroups, preload, poolSize, twinDelayMs, tmpMb } = config;
    configureZygote(process, {
      level: isolation,
      instance: name,
      sessions: sessionsDir,
      socket: reception.socketPath,
      cache: cacheDir,
      cgroups,
      preload,
      ahead: Math.min(poolSize, 2),
      tmpBytes: tmpMb * 2 ** 20,
      twinDelayMs,
    });
    return { name, process };
  }

  #takeHeadStart(): ZygoteProcess | undefined {
    const headStart = this.#headStart;
    this.#headStart = undefined;
    if (headStart === undefined) return undefined;
    const { python, cacheDir } = this.#options;
    if (headStart.python === python && headStart.cacheDir === cacheDir) return headStart;
    headStart.child.kill('SIGKILL');
    return undefined;
  }
}

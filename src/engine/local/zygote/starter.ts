import type { Config } from '../../../config.ts';
import type { Instance } from '../instance/instance.ts';
import { zygoteLimits } from './limits.ts';
import { configureZygote, spawnZygote, type ZygoteProcess } from './process.ts';

export interface StarterOptions {
  readonly config: Config;
  readonly python: string;
  readonly cacheDir: string;
  /** A process for the first zygote that was started ahead. It is used if it fits, and ended otherwise. */
  readonly headStart?: ZygoteProcess;
}

/** A process that is about to become a zygote. */
export interface StartedZygote {
  /** No two zygotes of an engine have the same name. */
  readonly name: string;
  readonly process: ZygoteProcess;
}

/** Starts the zygotes of one engine, one after the other, and sends each its configuration. */
export class ZygoteStarter implements Disposable {
  readonly #options: StarterOptions;
  readonly #instance: Instance;
  #headStart: ZygoteProcess | undefined;
  #prepared: StartedZygote | undefined;
  #count = 0;

  constructor(options: StarterOptions, instance: Instance) {
    this.#options = options;
    this.#instance = instance;
    this.#headStart = options.headStart;
  }

  /** Starts the next one before it is asked for. */
  prepare(): void {
    this.#prepared = this.#start();
  }

  next(): StartedZygote {
    const prepared = this.#prepared;
    this.#prepared = undefined;
    return prepared ?? this.#start();
  }

  /** Ends a process that was prepared and never asked for. */
  [Symbol.dispose](): void {
    this.#prepared?.process.child.kill('SIGKILL');
  }

  #start(): StartedZygote {
    const { config, python, cacheDir } = this.#options;
    const { name: instance, sessionsDir, workerSocket } = this.#instance;
    this.#count += 1;
    const name = `${instance}.${this.#count}`;
    const process = this.#takeHeadStart() ?? spawnZygote(python, cacheDir);
    const { isolation, cgroups, preload, poolSize, twinDelayMs, limits } = config;
    configureZygote(process, {
      level: isolation,
      instance: name,
      sessions: sessionsDir,
      socket: workerSocket.socketPath,
      cache: cacheDir,
      cgroups,
      preload,
      ahead: Math.min(poolSize, 2),
      twinDelayMs,
      limits: zygoteLimits(limits),
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

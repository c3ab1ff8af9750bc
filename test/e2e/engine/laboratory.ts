/** A real engine in a data directory of its own, on the Python that set-up made. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseConfig, type Config, type ConfigInput, type Limits } from '../../../src/config.ts';
import { defaultDataDir } from '../../../src/data-dir.ts';
import type { Echo, Engine, EngineSession, OpenOptions } from '../../../src/engine/engine.ts';
import { removeTree } from '../../../src/engine/local/instance/removals.ts';
import { startLocalEngine } from '../../../src/engine/local/engine.ts';
import type { LocalSession } from '../../../src/engine/local/session.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import type { Event } from '../../../src/execution/event.ts';
import type { Execution } from '../../../src/execution/execution.ts';
import { foldExecution } from '../../../src/execution/transcript.ts';
import { Task } from '../../../src/process-life.ts';

export interface RunSettings {
  readonly timeoutMs?: number;
  readonly echo?: Echo;
  readonly signal?: AbortSignal;
  readonly resultVariable?: string;
  readonly stdin?: string;
  readonly svg?: boolean;
}

export class Laboratory implements AsyncDisposable {
  readonly engine: Engine<LocalSession>;
  readonly dataDir: string;
  readonly #config: Config;
  /** An engine by itself does not keep the process alive. */
  readonly #life: Task;
  #opened = 0;

  private constructor(engine: Engine<LocalSession>, config: Config, life: Task) {
    this.#life = life;
    this.engine = engine;
    this.#config = config;
    this.dataDir = config.dataDir;
  }

  /** Preloads and pools nothing unless asked to, so that a test pays only for what it needs. */
  static async start(input: Omit<ConfigInput, 'dataDir'> = {}, ownPython?: string): Promise<Laboratory> {
    const environment = await findEnvironment(defaultDataDir(process.env));
    if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
    const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-test-'));
    const config = parseConfig({ preload: [], poolSize: 0, ...input, dataDir });
    const life = new Task();
    try {
      const { python, cacheDir } = environment;
      return new Laboratory(await startLocalEngine({ config, python: ownPython ?? python, cacheDir }), config, life);
    } catch (error) {
      life[Symbol.dispose]();
      await removeTree(dataDir);
      throw error;
    }
  }

  async open(limits: Partial<Limits> = {}, options: Partial<OpenOptions> = {}): Promise<Subject> {
    this.#opened += 1;
    const session = await this.engine.open({
      id: `session-${this.#opened}`,
      limits: { ...this.#config.limits, ...limits },
      mounts: [],
      network: false,
      readOnly: false,
      env: {},
      twins: true,
      ...options,
    });
    return new Subject(session, { ...this.#config.limits, ...limits });
  }

  async close(): Promise<void> {
    await this.engine.close();
    await removeTree(this.dataDir);
    this.#life[Symbol.dispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A session under test. */
export class Subject<S extends EngineSession = LocalSession> implements AsyncDisposable {
  readonly session: S;
  readonly #limits: Limits;
  #runs = 0;

  constructor(session: S, limits: Limits) {
    this.session = session;
    this.#limits = limits;
  }

  stream(code: string, settings: RunSettings = {}): AsyncGenerator<Event, void, undefined> {
    this.#runs += 1;
    const { timeoutMs = this.#limits.timeoutMs, echo = 'last', ...rest } = settings;
    return this.session.stream({ id: `${this.#runs}`, code, echo, timeoutMs, ...rest });
  }

  run(code: string, settings?: RunSettings): Promise<Execution> {
    return foldExecution(this.stream(code, settings), this.#limits.outputBytes);
  }

  /** The text of the value of an expression. */
  async evaluate(expression: string): Promise<string | undefined> {
    return (await this.run(expression)).results[0]?.data['text/plain'];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.session.close();
  }
}

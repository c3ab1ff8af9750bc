/** A service with real sessions and a real database, and a generator that returns predefined code. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import { loadConfiguration } from '../../../src/service/config/load.ts';
import type { CodeGenerator, ExecutionFailure } from '../../../src/service/generation/generator.ts';
import { startPythonExecutor, type PythonExecutorOptions } from '../../../src/service/start.ts';
import type { PythonExecutorService, RequestProgress } from '../../../src/service/service.ts';
import type { Approval } from '../../../src/storage/approvals/approval.ts';
import { configured, type Sections } from './laboratory-settings.ts';

export { EPICS, REQUEST, thread, WRITES, type Sections } from './laboratory-settings.ts';

export interface Setting {
  /** Overrides a configuration in which writes need approval. */
  readonly config?: Sections;
  /** Returned one after the other; the last one repeats. */
  readonly code?: string | readonly string[] | CodeGenerator['generateCode'];
  readonly options?: Partial<PythonExecutorOptions>;
}

export interface Service {
  readonly service: PythonExecutorService;
  /** The failures that the generator was given, per call. */
  readonly generations: (readonly ExecutionFailure[])[];
  readonly baseDir: string;
}

/** One host and one directory for the tests of a file. */
export class Laboratory {
  host!: Host;
  directory = '';
  #count = 0;

  constructor() {
    beforeAll(async () => {
      this.host = await createHost();
      this.directory = mkdtempSync(path.join(tmpdir(), 'service-'));
    });
    afterAll(async () => {
      await this.host.close();
      rmSync(this.directory, { recursive: true, force: true });
    });
  }

  /** A directory for one test. */
  fresh(): string {
    this.#count += 1;
    return mkdtempSync(path.join(this.directory, `${this.#count}-`));
  }

  async start({ config = {}, code = 'results = {"answer": 42}', options = {} }: Setting = {}): Promise<
    Service & AsyncDisposable
  > {
    const baseDir = options.baseDir ?? this.fresh();
    const generations: (readonly ExecutionFailure[])[] = [];
    const generateCode: CodeGenerator['generateCode'] = async (request, failures, more) => {
      generations.push(failures);
      if (typeof code === 'function') return code(request, failures, more);
      const codes = typeof code === 'string' ? [code] : code;
      return codes[Math.min(generations.length, codes.length) - 1] ?? '';
    };
    const service = await startPythonExecutor({
      config: await loadConfiguration({ text: JSON.stringify(configured(config)), environment: {} }),
      dataDir: path.join(baseDir, 'data'),
      baseDir,
      host: this.host,
      generators: { scripted: () => ({ generateCode }) },
      ...options,
    });
    return { service, generations, baseDir, [Symbol.asyncDispose]: () => service.close() };
  }
}

/** The approval that a request waits for. */
export function question(progress: RequestProgress): Approval {
  if (progress.status === 'awaiting-approval') return progress.approval;
  throw new Error('nobody was asked');
}

export function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8')) as unknown;
}

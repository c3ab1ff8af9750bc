/** A service on real sessions and a real database, with a generator that gives code as it is told. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { createInterpreter, type Interpreter } from '../../../src/index.ts';
import { loadConfiguration } from '../../../src/service/config/load.ts';
import type { CodeGenerator, ExecutionFailure } from '../../../src/service/generation/generator.ts';
import { startPythonExecutor, type PythonExecutorOptions } from '../../../src/service/start.ts';
import type { PythonExecutorService, Progressed } from '../../../src/service/service.ts';
import type { Approval } from '../../../src/storage/approval/approval.ts';

/** Sections of config.yml. */
export type Sections = Readonly<Record<string, unknown>>;

export interface Setting {
  /** Put over a configuration that asks about writes. */
  readonly config?: Sections;
  /** Given one after the other; the last one stays. */
  readonly code?: string | readonly string[] | CodeGenerator['generateCode'];
  readonly options?: Partial<PythonExecutorOptions>;
}

export interface Service {
  readonly service: PythonExecutorService;
  /** What the generator was told had failed, call by call. */
  readonly generations: (readonly ExecutionFailure[])[];
  readonly baseDir: string;
}

/** Settings that let code write, after it was asked about. */
export const WRITES = { execution_control: { epics: { writes_enabled: true } } } as const;

/** A stand-in for the library of a control system; its writes are prints. */
export const EPICS = `import sys, types
sys.modules['epics'] = types.ModuleType('epics')
sys.modules['epics'].caput = lambda name, value: print('wrote', name, value)
from epics import caput as _w
`;

export const REQUEST = {
  user_query: 'What is the answer?',
  task_objective: 'Find the answer',
  expected_results: { answer: 'int' },
  execution_folder_name: 'answer',
} as const;

export function thread(id: string): { readonly configurable: Readonly<Record<string, string>> } {
  return { configurable: { thread_id: id, checkpoint_ns: 'python_executor' } };
}

/** One interpreter and one directory for the tests of a file. */
export class Laboratory {
  interpreter!: Interpreter;
  directory = '';
  #count = 0;

  constructor() {
    beforeAll(async () => {
      this.interpreter = await createInterpreter();
      this.directory = mkdtempSync(path.join(tmpdir(), 'service-'));
    });
    afterAll(async () => {
      await this.interpreter.close();
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
      interpreter: this.interpreter,
      generators: { scripted: () => ({ generateCode }) },
      ...options,
    });
    return { service, generations, baseDir, [Symbol.asyncDispose]: () => service.close() };
  }
}

/** YAML reads JSON: sections are put over the usual ones, key by key. */
export function configured(sections: Sections): Sections {
  return merge(
    {
      framework: { execution: { code_generator: 'scripted' } },
      approval: { global_mode: 'selective', capabilities: { python_execution: { mode: 'epics_writes' } } },
    },
    sections,
  );
}

function merge(below: Sections, above: Sections): Sections {
  const merged = Object.entries(above).map(([key, value]) => {
    const under = below[key];
    return [key, isSection(under) && isSection(value) ? merge(under, value) : value];
  });
  return { ...below, ...(Object.fromEntries(merged) as Sections) };
}

function isSection(value: unknown): value is Sections {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The question that a request has come to. */
export function question(progressed: Progressed): Approval {
  if (progressed.status === 'awaiting-approval') return progressed.approval;
  throw new Error('nobody was asked');
}

export function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8')) as unknown;
}

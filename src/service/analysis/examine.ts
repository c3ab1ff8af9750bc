import { describeOutcome } from '../../execution/description.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { readAnalysis, type ModuleSource } from '../../engine/python-files.ts';
import { Once } from '../../once.ts';
import { pythonString } from '../../text/code/python-code.ts';
import { Facts, unanalyzable } from './facts.ts';

const MAX_CHARACTERS = 500_000;
const TIMEOUT_MS = 30_000;

/** Analyzes code with the parser and compiler of the Python that will run it, in its own session because it may be hostile. */
export class Examiner {
  readonly #host: Pick<Host, 'runOnce'>;
  readonly #timeoutMs: number;
  readonly #program = new Once(() => readAnalysis().then(analysisProgram));

  constructor(host: Pick<Host, 'runOnce'>, options: { readonly timeoutMs?: number } = {}) {
    this.#host = host;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** Rejects only if it was aborted or the engine failed. Problems of the code are in the facts. */
  async examine(code: string, options: { readonly signal?: AbortSignal } = {}): Promise<Facts> {
    if (code.length > MAX_CHARACTERS) return unanalyzable(null, `the code is longer than ${MAX_CHARACTERS} characters`);
    const execution = await this.#host.runOnce(`${await this.#program.get()}\nfacts = report(${pythonString(code)})`, {
      initCode: null,
      echo: 'none',
      resultVariable: 'facts',
      timeoutMs: this.#timeoutMs,
      ...options,
    });
    if (execution.outcome.status === 'cancelled') options.signal?.throwIfAborted();
    return factsOf(execution);
  }
}

/** Python that makes modules out of their sources: sessions see no files of ours. */
export function analysisProgram(modules: readonly ModuleSource[]): string {
  const loads = modules.map(({ name, source }) => `load(${pythonString(name)}, ${pythonString(source)})`);
  return [
    'import sys, types',
    'def load(name, source):',
    '    module = sys.modules[name] = types.ModuleType(name)',
    '    module.__package__ = "_vivarium.payloads.analysis"',
    '    exec(compile(source, f"<{name}>", "exec"), module.__dict__)',
    ...loads,
    'report = sys.modules["_vivarium.payloads.analysis.report"].report',
  ].join('\n');
}

function factsOf({ outcome, value, error }: Execution): Facts {
  if (outcome.status === 'succeeded') return parseFacts(value);
  const why = outcome.status === 'raised' ? `it raised ${describe(error)}` : describeOutcome(outcome, 'it');
  return unanalyzable(null, `the code could not be analyzed: ${why}`);
}

function describe(error: Execution['error']): string {
  return error === undefined ? 'an exception' : `${error.name}: ${error.value}`.slice(0, 300);
}

function parseFacts(value: unknown): Facts {
  try {
    const parsed = Facts.safeParse(typeof value === 'string' ? JSON.parse(value) : value);
    if (parsed.success) return parsed.data;
  } catch {
    // Not JSON: the code made the session answer something else.
  }
  return unanalyzable(null, 'the code could not be analyzed: the analyzer returned an invalid answer');
}

import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { readAnalyzer, type ModuleSource } from './python-files.ts';
import { Facts, unanalyzable } from './facts.ts';

const MAX_CHARACTERS = 500_000;
const TIMEOUT_MS = 30_000;

/** Analyzes code with the parser and compiler of the Python that will run it, in its own session because it may be hostile. */
export class Examiner {
  readonly #host: Pick<Host, 'runOnce'>;
  readonly #timeoutMs: number;
  #program: Promise<string> | undefined;

  constructor(host: Pick<Host, 'runOnce'>, options: { readonly timeoutMs?: number } = {}) {
    this.#host = host;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** Rejects only if it was aborted or the engine failed. Problems of the code are in the facts. */
  async examine(code: string, options: { readonly signal?: AbortSignal } = {}): Promise<Facts> {
    if (code.length > MAX_CHARACTERS) return unanalyzable(null, `the code is longer than ${MAX_CHARACTERS} characters`);
    this.#program ??= readAnalyzer().then(programOf);
    const execution = await this.#host.runOnce(`${await this.#program}\nfacts = report(${JSON.stringify(code)})`, {
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

/** Python that makes modules out of their sources: sessions see no files of ours. JSON strings are Python strings too. */
function programOf(modules: readonly ModuleSource[]): string {
  const loads = modules.map(({ name, source }) => `load(${JSON.stringify(name)}, ${JSON.stringify(source)})`);
  return [
    'import sys, types',
    'def load(name, source):',
    '    module = sys.modules[name] = types.ModuleType(name)',
    '    module.__path__ = []',
    '    exec(compile(source, f"<{name}>", "exec"), module.__dict__)',
    ...loads,
    'from analyze.report import report',
  ].join('\n');
}

function factsOf({ outcome, value, error }: Execution): Facts {
  switch (outcome.status) {
    case 'succeeded':
      return parseFacts(value);
    case 'timed-out':
      return unanalyzable(null, `the code could not be analyzed within ${outcome.limitMs} ms`);
    case 'out-of-memory':
      return unanalyzable(null, `the code could not be analyzed within ${outcome.limitMb} MB`);
    case 'crashed':
      return unanalyzable(null, `the code could not be analyzed: Python crashed on it (${outcome.reason})`);
    case 'raised':
      return unanalyzable(null, `the code could not be analyzed: ${error?.name ?? 'an exception'}`);
    case 'cancelled':
      return unanalyzable(null, 'the analysis of the code was cancelled');
  }
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

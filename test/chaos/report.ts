/** What a run of chaos found: counts, and the last steps of every session that was told something untrue. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A call that took longer than its limit by this much counts as a hang. */
const PATIENCE_MS = 30_000;
const TRACE_STEPS = 40;
const LONG_TEXT = 300;
/** Parts of an answer that say nothing about the state. */
const UNTOLD = new Set(['id', 'sessionId', 'isolation', 'dataframes', 'transcript', 'figures', 'traceback', 'sha256']);

export type FindingKind = 'lie' | 'hang' | 'leftover';

export interface Finding {
  readonly kind: FindingKind;
  readonly what: string;
  /** The steps that led to it. */
  readonly steps?: string | undefined;
}

export class Hang extends Error {
  override readonly name = 'Hang';
}

export class Report {
  calls = 0;
  receipts = 0;
  readings = 0;
  /** Calls that ended with an error of ours, by call and code. */
  readonly errors = new Map<string, number>();
  /** Receipts by outcome and state. */
  readonly fates = new Map<string, number>();
  readonly findings: Finding[] = [];

  readonly #onFinding: (finding: Finding) => void;

  constructor(onFinding: (finding: Finding) => void) {
    this.#onFinding = onFinding;
  }

  /** Steps are kept in memory: there may be no disk or descriptor to write them with. */
  find(kind: FindingKind, what: string, trace?: Trace): void {
    const finding = { kind, what, steps: trace?.text };
    this.findings.push(finding);
    this.#onFinding(finding);
  }

  /** Writes the steps of each finding to a file. */
  write(directory: string): void {
    mkdirSync(directory, { recursive: true });
    for (const [index, { kind, what, steps }] of this.findings.entries()) {
      writeFileSync(path.join(directory, `${index + 1}-${kind}.txt`), `${what}\n\n${steps ?? ''}`);
    }
  }

  count(kind: FindingKind): number {
    return this.findings.filter((finding) => finding.kind === kind).length;
  }
}

/** The last steps of one session. */
export class Trace {
  readonly #name: string;
  readonly #steps: string[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  add(step: string, details?: unknown): void {
    const text = details === undefined ? '' : JSON.stringify(details, shorten);
    this.#steps.push(`${performance.now().toFixed(0).padStart(8)} ${step} ${text}`);
    if (this.#steps.length > TRACE_STEPS) this.#steps.shift();
  }

  get text(): string {
    return `${this.#name}\n${this.#steps.join('\n')}\n`;
  }
}

/** Rejects with a `Hang` if there is no answer in time. */
export async function answered<T>(what: string, limitMs: number, call: () => Promise<T>): Promise<T> {
  const given = new AbortController();
  const late = sleep(limitMs + PATIENCE_MS, undefined, { signal: given.signal }).then(() => {
    throw new Hang(`no answer ${PATIENCE_MS / 1000} s after its limit: ${what}`);
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    given.abort();
    late.catch(() => undefined); // the answer came first
  }
}

export function tally(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function shorten(key: string, value: unknown): unknown {
  if (UNTOLD.has(key)) return undefined;
  return typeof value === 'string' && value.length > LONG_TEXT ? `${value.slice(0, 60)}… (${value.length})` : value;
}

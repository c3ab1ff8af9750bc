/** What the benchmark says: rows of a table, and the same as JSON. */
import { cpus, loadavg, release, totalmem } from 'node:os';
import type { Environment } from '../src/environment/environment.ts';
import type { Timing } from './measure.ts';

export interface Row {
  readonly what: string;
  readonly ours: string;
  readonly ipykernel?: string | undefined;
  readonly python?: string | undefined;
  /** How many times better than a peer. */
  readonly ratio?: string | undefined;
  /** The promise, in words; absent for a row that only informs. */
  readonly hold?: string;
  readonly held?: boolean;
  /** The numbers behind the words. */
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Machine {
  readonly cpus: string;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly node: string;
  readonly python: string;
  readonly libraries: Readonly<Record<string, string>>;
  /** Processes that wanted a processor in the minute before; anything near the number of processors is noise. */
  readonly loadBefore: number;
}

export function describeMachine({ version, libraries }: Environment): Machine {
  const processors = cpus();
  return {
    cpus: `${processors.length} × ${processors[0]?.model ?? 'unknown'}`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    python: version,
    libraries,
    loadBefore: loadavg()[0] ?? 0,
  };
}

export function toMarkdown(machine: Machine, rows: readonly Row[]): string {
  const { cpus: processors, memoryGb, kernel, node, python, loadBefore } = machine;
  const header = ['what', 'Vivarium', 'ipykernel', '`python` subprocess', 'ratio', 'goal', 'met'];
  const lines = rows.map((row) => [
    row.what,
    row.ours,
    row.ipykernel ?? '',
    row.python ?? '',
    row.ratio ?? '',
    row.hold ?? '',
    row.held === undefined ? '' : row.held ? 'yes' : '**no**',
  ]);
  const asLine = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [
    `${processors}, ${memoryGb} GB, Linux ${kernel}, Node ${node}, Python ${python}, load before ${loadBefore.toFixed(1)}. p50 / p95.`,
    '',
    asLine(header),
    asLine(header.map(() => '---')),
    ...lines.map(asLine),
  ].join('\n');
}

export function showTiming(timing: Timing | undefined): string | undefined {
  return timing && `${showMs(timing.p50Ms)} / ${showMs(timing.p95Ms)}`;
}

export function showMs(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`;
}

export function showMb(bytes: number): string {
  const mb = bytes / 2 ** 20;
  return mb >= 10_000 ? `${(mb / 1024).toFixed(1)} GB` : `${mb.toFixed(mb < 100 ? 1 : 0)} MB`;
}

/** "12.3 ×" of peers by name, in the order given; peers that are not there are left out. */
export function showRatios(ours: number, peers: Readonly<Record<string, number | undefined>>): string | undefined {
  const parts = Object.entries(peers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${(value / ours).toFixed(value / ours < 10 ? 1 : 0)} × (${name})`],
  );
  return parts.length === 0 ? undefined : parts.join(', ');
}

import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';

const NOTHING = { sessions: 0, warmSessions: null, runningRuns: 0, runningCommands: 0, runningTasks: 0 };

/** The lines of one number. */
function linesOf(metrics: Metrics, name: string): string[] {
  return metrics
    .text({ ...NOTHING, sessions: 3 })
    .split('\n')
    .filter((line) => line.startsWith(name));
}

test('runs are counted by outcome, with crashes and what became of states', () => {
  const metrics = new Metrics();
  const run = { level: 'info', event: 'run-ended', state: 'preserved', durationMs: 3 } as const;
  metrics.observe({ ...run, outcome: 'succeeded' });
  metrics.observe({ ...run, outcome: 'succeeded' });
  metrics.observe({ ...run, outcome: 'crashed', state: 'restored' });
  metrics.observe({ ...run, outcome: 'raised', state: 'lost', earlier: 'lost' });
  expect(linesOf(metrics, 'vivarium_runs_total')).toEqual([
    'vivarium_runs_total{outcome="succeeded"} 2',
    'vivarium_runs_total{outcome="crashed"} 1',
    'vivarium_runs_total{outcome="raised"} 1',
  ]);
  expect(linesOf(metrics, 'vivarium_crashes_total')).toEqual(['vivarium_crashes_total 1']);
  expect(linesOf(metrics, 'vivarium_states_')).toEqual([
    'vivarium_states_restored_total 1',
    'vivarium_states_lost_total 1',
  ]);
});

test('durations are in buckets that add up', () => {
  const metrics = new Metrics();
  for (const durationMs of [0.5, 3, 3, 200, 1e6]) {
    metrics.observe({ level: 'info', event: 'run-ended', outcome: 'succeeded', state: 'preserved', durationMs });
  }
  expect(linesOf(metrics, 'vivarium_run_duration_seconds')).toEqual([
    'vivarium_run_duration_seconds_bucket{le="0.001"} 1',
    'vivarium_run_duration_seconds_bucket{le="0.005"} 3',
    'vivarium_run_duration_seconds_bucket{le="0.025"} 3',
    'vivarium_run_duration_seconds_bucket{le="0.1"} 3',
    'vivarium_run_duration_seconds_bucket{le="0.5"} 4',
    'vivarium_run_duration_seconds_bucket{le="2.5"} 4',
    'vivarium_run_duration_seconds_bucket{le="10"} 4',
    'vivarium_run_duration_seconds_bucket{le="60"} 4',
    'vivarium_run_duration_seconds_bucket{le="300"} 4',
    'vivarium_run_duration_seconds_bucket{le="+Inf"} 5',
    'vivarium_run_duration_seconds_sum 1000.2065',
    'vivarium_run_duration_seconds_count 5',
  ]);
});

test('sessions and requests are counted, and the memory of the process is told', () => {
  const metrics = new Metrics();
  metrics.observe({ level: 'info', event: 'session-opened' });
  metrics.observe({ level: 'info', event: 'session-opened' });
  metrics.observe({ level: 'warn', event: 'session-ended' });
  metrics.countRequest(200);
  metrics.countRequest(404);
  metrics.countRequest(200);
  expect(linesOf(metrics, 'vivarium_sessions')).toEqual([
    'vivarium_sessions 3',
    'vivarium_sessions_opened_total 2',
    'vivarium_sessions_ended_total 1',
    'vivarium_sessions_evicted_total 1',
  ]);
  expect(linesOf(metrics, 'vivarium_http')).toEqual([
    'vivarium_http_requests_total{status="200"} 2',
    'vivarium_http_requests_total{status="404"} 1',
  ]);
  expect(linesOf(metrics, 'process_resident_memory_bytes')[0]).toMatch(/ \d{7,}$/);
});

test('every number has a type and a word of help', () => {
  const lines = new Metrics().text(NOTHING).trimEnd().split('\n');
  const names = new Set(
    lines
      .filter((line) => !line.startsWith('#'))
      .map((line) => line.replace(/[{ ].*/, '').replace(/_(?:bucket|sum|count)$/, '')),
  );
  for (const name of names) {
    expect(lines.filter((line) => line.startsWith(`# HELP ${name} `))).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith(`# TYPE ${name} `))).toHaveLength(1);
  }
});

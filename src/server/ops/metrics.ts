import type { LogEntry } from '../../log.ts';

/** Upper bounds in seconds, from a quick expression to a long computation. */
const BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300] as const;

/** What is counted at the moment when somebody asks. */
export interface Gauges {
  readonly sessions: number;
  /** Null for a host that does not tell. */
  readonly warmSessions: number | null;
  readonly runningRuns: number;
  readonly runningCommands: number;
  readonly runningTasks: number;
}

/** Counts what happens, for Prometheus. */
export class Metrics {
  readonly #startedMs = Date.now();
  readonly #runs = new Map<string, number>();
  readonly #requests = new Map<string, number>();
  readonly #lost = { restored: 0, lost: 0 };
  readonly #sessions = { opened: 0, ended: 0, unexpected: 0 };
  readonly #durations = BUCKETS.map(() => 0);
  #durationSum = 0;
  #durationCount = 0;

  /** An entry of the log of the host: what happens to all of its sessions. */
  observe({ event, level, outcome, state, earlier, durationMs }: LogEntry): void {
    if (event === 'session-opened') this.#sessions.opened += 1;
    if (event === 'session-ended') {
      this.#sessions.ended += 1;
      if (level === 'warn') this.#sessions.unexpected += 1;
    }
    if (event !== 'run-ended') return;
    count(this.#runs, String(outcome));
    // A receipt that says `lost` because of what was earlier tells of one loss.
    const losses = state === 'lost' && earlier !== undefined ? [earlier] : [state, earlier];
    for (const status of losses) if (status === 'restored' || status === 'lost') this.#lost[status] += 1;
    this.#observeDuration(Number(durationMs) / 1000);
  }

  countRequest(status: number): void {
    count(this.#requests, String(status));
  }

  /** In the text format of Prometheus. */
  text(gauges: Gauges): string {
    const { rss, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    return [
      ...gauge('vivarium_sessions', 'Open sessions.', gauges.sessions),
      ...(gauges.warmSessions === null
        ? []
        : gauge('vivarium_pool_sessions', 'Warm sessions that wait to be opened.', gauges.warmSessions)),
      ...gauge('vivarium_runs_running', 'Runs over HTTP that have not ended.', gauges.runningRuns),
      ...gauge('vivarium_commands_running', 'Commands over HTTP that have not ended.', gauges.runningCommands),
      ...gauge('vivarium_tasks_running', 'Tasks that are worked on.', gauges.runningTasks),
      ...counter('vivarium_sessions_opened_total', 'Sessions that were opened.', this.#sessions.opened),
      ...counter('vivarium_sessions_ended_total', 'Sessions that have ended.', this.#sessions.ended),
      ...counter('vivarium_sessions_evicted_total', 'Sessions whose end nobody asked for.', this.#sessions.unexpected),
      ...counters('vivarium_runs_total', 'Runs that have ended, by outcome.', 'outcome', this.#runs),
      ...counter(
        'vivarium_crashes_total',
        'Runs that ended because their process did.',
        this.#runs.get('crashed') ?? 0,
      ),
      ...counter('vivarium_states_restored_total', 'Lost processes whose state was restored.', this.#lost.restored),
      ...counter('vivarium_states_lost_total', 'Lost processes whose state was lost.', this.#lost.lost),
      ...this.#histogram(),
      ...counters('vivarium_http_requests_total', 'Answered requests, by status.', 'status', this.#requests),
      ...gauge('process_resident_memory_bytes', 'Memory of the server, without its sessions.', rss),
      ...gauge('nodejs_heap_used_bytes', 'Heap of the server.', heapUsed),
      ...gauge('nodejs_external_memory_bytes', 'Memory of the server outside of its heap.', external),
      ...counter('process_cpu_seconds_total', 'Processor time of the server.', (user + system) / 1e6),
      ...gauge('process_start_time_seconds', 'When the server was started.', this.#startedMs / 1000),
      '',
    ].join('\n');
  }

  #observeDuration(seconds: number): void {
    this.#durationSum += seconds;
    this.#durationCount += 1;
    for (const [index, bound] of BUCKETS.entries()) {
      if (seconds <= bound) this.#durations[index] = (this.#durations[index] ?? 0) + 1;
    }
  }

  #histogram(): string[] {
    const name = 'vivarium_run_duration_seconds';
    return [
      ...headOf(name, 'How long runs took.', 'histogram'),
      ...BUCKETS.map((bound, index) => `${name}_bucket{le="${bound}"} ${this.#durations[index]}`),
      `${name}_bucket{le="+Inf"} ${this.#durationCount}`,
      `${name}_sum ${this.#durationSum}`,
      `${name}_count ${this.#durationCount}`,
    ];
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function headOf(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function gauge(name: string, help: string, value: number): string[] {
  return [...headOf(name, help, 'gauge'), `${name} ${value}`];
}

function counter(name: string, help: string, value: number): string[] {
  return [...headOf(name, help, 'counter'), `${name} ${value}`];
}

function counters(name: string, help: string, label: string, values: ReadonlyMap<string, number>): string[] {
  return [
    ...headOf(name, help, 'counter'),
    ...Array.from(values, ([key, value]) => `${name}{${label}="${key}"} ${value}`),
  ];
}

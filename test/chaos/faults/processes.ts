/** Faults that hit processes: a process of the engine is killed, ended, or stopped for a while. */
import { readlinkSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from '../../e2e/engine/chance.ts';
import { descendants, isRunning, roleOf, type Process } from '../../e2e/engine/processes.ts';
import type { Fault, Weather } from './weather.ts';

/** A session that may be hit. */
export interface Target {
  readonly id: string;
  readonly workspace: string;
}

/** How often each kind is chosen. All sessions end with the zygote, and there is only one. */
const ODDS = { worker: 40, twin: 20, 'pid 1': 12, builder: 6, surveyor: 3, zygote: 1, outside: 1 };
type TargetKind = keyof typeof ODDS;
const TARGETS = (Object.keys(ODDS) as TargetKind[]).flatMap((kind) => Array.from({ length: ODDS[kind] }, () => kind));
const SIGNALS = ['SIGKILL', 'SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGSTOP'] as const;
const LONGEST_STOP_MS = 1500;

interface Victim {
  readonly process: Process;
  /** Null if it may concern every session. */
  readonly sessionId: string | null;
}

/** Sends signals to processes that descend from this one, and to no others. */
export class ProcessFaults {
  readonly #chance: Chance;
  readonly #weather: Weather;
  /** Every process that was seen. */
  readonly seen = new Map<string, Process>();

  readonly #stopped = new Set<Promise<void>>();

  constructor(chance: Chance, weather: Weather) {
    this.#chance = chance;
    this.#weather = weather;
  }

  /** One fault. A process that was stopped goes on by itself after a while. */
  strike(targets: readonly Target[]): void {
    const all = descendants();
    for (const one of all) this.seen.set(`${one.pid}@${one.startedAt}`, one);
    const chosen = this.#chance.pick(TARGETS);
    const signal = this.#chance.pick(SIGNALS);
    const stoppedMs = this.#chance.below(LONGEST_STOP_MS);
    const which = this.#chance.below(1);
    // In place of a process that there is not, one of a session: without sessions there is nothing to learn.
    const found = [chosen, 'twin' as const, 'worker' as const].map((target) => {
      return { target, victims: victimsAmong(all, target, targets) };
    });
    const { target, victims = [] } = found.find((one) => one.victims.length > 0) ?? {};
    const victim = victims[Math.floor(which * victims.length)];
    if (victim === undefined) return;
    const { process: one, sessionId } = victim;
    const fault = { kind: `${signal} of ${target}`, sessionId };
    if (signal === 'SIGSTOP') this.#stop(one, fault, stoppedMs);
    else {
      this.#weather.add(fault);
      send(one, signal);
    }
  }

  #stop(one: Process, fault: Fault, forMs: number): void {
    this.#weather.begin(fault);
    send(one, 'SIGSTOP');
    const resuming = sleep(forMs).then(() => {
      send(one, 'SIGCONT');
      this.#weather.clear(fault);
      this.#stopped.delete(resuming);
    });
    this.#stopped.add(resuming);
  }

  /** Resolves when no process is stopped. */
  async settle(): Promise<void> {
    await Promise.all(this.#stopped);
  }
}

function victimsAmong(all: readonly Process[], target: TargetKind, targets: readonly Target[]): Victim[] {
  if (target !== 'worker' && target !== 'twin' && target !== 'pid 1') {
    return all.filter((one) => roleOf(one) === target).map((one) => ({ process: one, sessionId: null }));
  }
  return targets.flatMap(({ id, workspace }) =>
    membersOf(all, workspace)
      .filter(({ role }) => role === target)
      .map(({ process: one }) => ({ process: one, sessionId: id })),
  );
}

/** The processes of one session. */
function membersOf(
  all: readonly Process[],
  workspace: string,
): { process: Process; role: 'worker' | 'twin' | 'pid 1' }[] {
  const inode = inodeOf(workspace);
  const inside = all.filter(({ pid }) => inode !== null && inodeOf(`/proc/${pid}/root/workspace`) === inode);
  const own = inside.filter(({ numbers }) => numbers.at(-1) !== 1);
  const pids = new Set(own.map(({ pid }) => pid));
  const namespace = own[0] && namespaceOf(own[0]);
  const first = all.filter((one) => namespace && one.numbers.at(-1) === 1 && namespaceOf(one) === namespace);
  return [
    ...own.map((one) => ({ process: one, role: pids.has(one.parent) ? ('twin' as const) : ('worker' as const) })),
    ...first.map((one) => ({ process: one, role: 'pid 1' as const })),
  ];
}

function inodeOf(path: string): number | null {
  try {
    return statSync(path).ino;
  } catch {
    return null; // not in an enclosure, closed to us, or gone
  }
}

function namespaceOf({ pid }: Process): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined; // closed to us, or gone
  }
}

/** The number of a process that has ended may belong to another one by now. */
function send(one: Process, signal: NodeJS.Signals): boolean {
  try {
    return isRunning(one) && process.kill(one.pid, signal);
  } catch {
    return false; // it has just ended by itself
  }
}

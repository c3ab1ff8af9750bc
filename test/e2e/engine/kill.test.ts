/** kill -9 of every kind of process of an engine, at random moments, under load. `VIVARIUM_SEED` repeats a run. */
import { globSync } from 'node:fs';
import { mkdtemp, readdir, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { VivariumError } from '../../../src/errors.ts';
import type { Execution } from '../../../src/execution/execution.ts';
import { effectsOf } from '../../../src/execution/state.ts';
import { Chance } from './chance.ts';
import { Laboratory, type Subject } from './laboratory.ts';
import { descendants, isRunning, openFds, roleOf, type Process, type Role } from './processes.ts';

const KILLS = 200;
const USERS = 4;
const ANSWER_MS = 10_000;
const ROLES: readonly Role[] = [
  'worker',
  'worker',
  'worker',
  'worker',
  'pid 1',
  'pid 1',
  'builder',
  'builder',
  'surveyor',
  'zygote',
  'outside',
];

const CELLS = [
  '',
  'print("y" * 100_000)',
  'import time; time.sleep(0.02)',
  'import os; os.system("sleep 0.01")',
  'import os; os.fork() or os._exit(0)',
  'open("file", "w").write("x" * 10_000)',
  'held = bytearray(20 << 20)',
  'import os; os._exit(3)',
  'import os; os.abort()',
  'while True: pass',
];

test(`${KILLS} kills under load: every call is answered, no state is lost in silence, and nothing is left behind`, async () => {
  const chance = new Chance();
  const temporary = await mkdtemp(path.join(tmpdir(), 'viv-kill-'));
  process.env['TMPDIR'] = temporary; // so that only what this engine leaves there is seen
  try {
    await (await Laboratory.start()).close(); // so that Node has opened what it opens once
    const fdsBefore = openFds();
    const seen = await storm(chance);
    await expect.poll(() => [...seen.values()].filter(isRunning)).toEqual([]);
    await expect.poll(openFds).toBeLessThanOrEqual(fdsBefore);
    expect(await readdir(temporary)).toEqual([]);
    expect(globSync(`/sys/fs/cgroup/**/vivarium-${process.pid}-*`)).toEqual([]);
  } catch (error) {
    throw new Error(`VIVARIUM_SEED=${chance.seed}`, { cause: error });
  } finally {
    process.env['TMPDIR'] = path.dirname(temporary);
  }
  await rmdir(temporary);
}, 120_000);

const FATES: readonly (readonly [role: Role, state: string])[] = [
  ['builder', 'preserved'],
  ['surveyor', 'preserved'],
  ['pid 1', 'lost'],
  ['zygote', 'lost'],
  ['outside', 'lost'],
];

for (const [role, state] of FATES) {
  test(`a killed ${role} between runs: the state is ${state}, the files are kept, and new sessions open`, async () => {
    await using laboratory = await Laboratory.start({ poolSize: 1 });
    await using subject = await laboratory.open({ memoryMb: 128 }); // not from the pool
    await subject.run('x = 41; open("kept", "w").write("file")');
    for (const victim of descendants().filter((one) => roleOf(one) === role)) {
      kill(victim);
      await expect.poll(() => isRunning(victim)).toBe(false);
    }
    await sleep(50); // until the engine knows of it
    const next = await subject.run('print(globals().get("x"), open("kept").read())');
    expect(next).toMatchObject({ outcome: { status: 'succeeded' }, state: { status: state } });
    expect(next.logs.stdout).toBe(state === 'lost' ? 'None file\n' : '41 file\n');
    await using fresh = await laboratory.open();
    expect(await fresh.evaluate('40 + 2')).toBe('42');
  });
}

test('an open that is given up leaves no process behind', async () => {
  await using laboratory = await Laboratory.start();
  for (const delayMs of [0, 1, 5, 10, 20, 30]) {
    const signal = AbortSignal.timeout(delayMs);
    const opened = await laboratory.open({}, { signal }).catch(() => undefined);
    await opened?.session.close();
  }
  await expect.poll(() => descendants().filter((one) => ['pid 1', 'worker'].includes(roleOf(one)))).toEqual([]);
});

test('a session that is closed while it recovers is closed', async () => {
  await using laboratory = await Laboratory.start();
  const subject = await laboratory.open();
  await subject.run('x = 1');
  for (const victim of descendants().filter((one) => roleOf(one) === 'pid 1')) kill(victim);
  const running = subject.run('x').catch((error: unknown) => error);
  await answered('close', () => subject.session.close());
  await answered('the run', () => running);
  const [instance = ''] = await readdir(path.join(laboratory.dataDir, 'sessions'));
  const left = (): Promise<string[]> => readdir(path.join(laboratory.dataDir, 'sessions', instance));
  await expect.poll(left).toEqual(['owner.sock']); // of the engine; files are removed after closing
});

/** Returns every process that was seen. */
async function storm(chance: Chance): Promise<Map<string, Process>> {
  await using laboratory = await Laboratory.start({ poolSize: 2, limits: { memoryMb: 256, graceMs: 50 } });
  const stop = new AbortController();
  const users = Array.from({ length: USERS }, () => new User(laboratory, chance).live(stop.signal));
  const seen = new Map<string, Process>();
  try {
    await Promise.race([killAll(chance, seen, stop.signal), Promise.all(users)]);
  } finally {
    stop.abort();
    await Promise.allSettled(users);
  }
  await Promise.all(users);
  await answered('a session after the storm', async () => {
    await using subject = await laboratory.open();
    expect(await subject.evaluate('40 + 2')).toBe('42');
  });
  await answered('close', () => laboratory.engine.close());
  // Closing waits for the removal of files for a while only. Then the next start removes the directory of the engine.
  const files = (): string[] => globSync(path.join(laboratory.dataDir, 'sessions', '*', '*'));
  await expect
    .poll(() => files().filter((file) => path.basename(file) !== 'owner.sock'), { timeout: 10_000 })
    .toEqual([]);
  return seen;
}

async function killAll(chance: Chance, seen: Map<string, Process>, signal: AbortSignal): Promise<void> {
  for (let kills = 0; kills < KILLS && !signal.aborted;) {
    await sleep(chance.below(60));
    const all = descendants();
    for (const one of all) seen.set(`${one.pid}@${one.startedAt}`, one);
    const role = chance.pick(ROLES);
    const candidates = all.filter((one) => roleOf(one) === role);
    if (candidates.length > 0 && kill(chance.pick(candidates))) kills += 1;
  }
}

/** Does what callers do, one thing after another, and tracks what the state should be. */
class User {
  readonly #laboratory: Laboratory;
  readonly #chance: Chance;
  /** The value that the counter in the session should have; null if that is not known. */
  #count: number | null = 0;

  constructor(laboratory: Laboratory, chance: Chance) {
    this.#laboratory = laboratory;
    this.#chance = chance;
  }

  async live(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const subject = await attempt('open', () => this.#laboratory.open());
      if (subject === undefined) continue;
      this.#count = 0;
      for (let left = this.#chance.below(30); left > 0 && !signal.aborted; left -= 1) await this.#act(subject);
      await attempt('close', () => subject.session.close());
    }
  }

  async #act(subject: Subject): Promise<void> {
    const luck = this.#chance.below(20);
    if (luck < 1) await this.#uncertainly('reset', () => subject.session.reset());
    else if (luck < 2) await this.#uncertainly('rollback', () => subject.session.rollback());
    else if (luck < 3) await attempt('inspect', () => subject.session.inspect());
    else if (luck < 4) await this.#leaveEarly(subject);
    else await this.#raise(subject);
  }

  async #raise(subject: Subject): Promise<void> {
    const code = `n = globals().get("n", 0) + 1; print(n, flush=True)\n${this.#chance.pick(CELLS)}`;
    const execution = await attempt(`run ${code}`, () =>
      subject.run(code, { timeoutMs: 50 + this.#chance.below(100) }),
    );
    if (execution !== undefined) this.#settle(execution);
  }

  /** The receipt must say what became of the counter, before this run or during it. */
  #settle({ outcome, state, logs }: Execution): void {
    const printed = Number.parseInt(logs.stdout, 10);
    const isLost = state.status === 'lost' || state.earlier?.status === 'lost';
    const possible = [...(isLost ? [1] : []), ...(this.#count === null ? [] : [this.#count + 1])];
    if (Number.isInteger(printed) && this.#count !== null) {
      expect(possible, JSON.stringify({ outcome, state, printed })).toContain(printed);
    }
    const effects = effectsOf(state);
    if (effects === 'kept') this.#count = Number.isInteger(printed) ? printed : null;
    // A loss that is told late may have come before a run that was left early, and whose effects are there.
    else if (effects === 'lost' || (isLost && this.#count !== null)) this.#count = 0;
  }

  async #leaveEarly(subject: Subject): Promise<void> {
    await this.#uncertainly('leaving early', async () => {
      for await (const _ of subject.stream('n = -1\nwhile True: print(n)', { timeoutMs: 5000 })) break;
    });
  }

  async #uncertainly(name: string, call: () => Promise<unknown>): Promise<void> {
    await attempt(name, call);
    this.#count = null;
  }
}

/** An answer in time: a value, or an error of ours. */
async function attempt<T>(name: string, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await answered(name, call);
  } catch (error) {
    if (error instanceof VivariumError) return undefined;
    throw error;
  }
}

async function answered<T>(name: string, call: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${ANSWER_MS} ms: ${name}`)), ANSWER_MS);
  try {
    return await Promise.race([call(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function kill({ pid }: Process): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false; // it has just ended by itself
  }
}

/** Runs the whole table as the user who starts it, and prints what was found: one line of JSON each. */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { VivariumError } from '../../src/errors.ts';
import { Arena, Hung, LIMITS } from './arena.ts';
import { attempts, type Attempt, type Host } from './attempts.ts';
import { tryConfined, type Confined } from './confined.ts';
import { tryPlain } from './plain.ts';
import type { Finding, Line, Row } from './verdict.ts';
import { World } from './world.ts';

const CAP_SYS_ADMIN = 21n;
const DAMAGING = ['protocol', 'worker'];

const { values } = parseArgs({
  options: {
    directory: { type: 'string' },
    python: { type: 'string' },
    cgroups: { type: 'string', default: 'yes' },
    /** Groups or ids to try; all of them unless given. */
    only: { type: 'string', multiple: true, default: [] },
    /** Whether attempts are made without walls too. */
    plain: { type: 'string', default: 'yes' },
    isolation: { type: 'string', default: 'namespaces' },
    /** Whether the session that attacks may use the network: yes, no, or a list. */
    network: { type: 'string', default: 'no' },
    /** Whether attempts are made by commands of the session instead of its Python. */
    commands: { type: 'string', default: 'no' },
  },
});
const { directory = '', python = 'python3' } = values;
const dataDir = path.join(directory, 'data');
const chosen = attempts.filter(
  ({ id, group }) => values.only.length === 0 || values.only.includes(id) || values.only.includes(group),
);

await mkdir(dataDir, { recursive: true });
{
  await using inner = await World.build({ python, directory: path.join(directory, 'inner'), dataDir });
  await using outer = await World.build({ python, directory: path.join(directory, 'outer'), dataDir });
  await outer.plantBeside(path.join(directory, 'outer', 'plain'));
  await runTable(inner, outer);
}
tell({ type: 'end', leftovers: readdirSync(path.join(dataDir, 'sessions')) });

async function runTable(inner: World, outer: World): Promise<void> {
  const cacheDir = path.join(dataDir, 'cache');
  let arena: Arena;
  try {
    const isolation = values.isolation === 'landlock' ? 'landlock' : 'namespaces';
    const cgroups = values.cgroups === 'yes';
    const network = values.network === 'list' ? 'list' : values.network === 'yes';
    const byCommands = values.commands === 'yes';
    arena = await Arena.open({ python, dataDir, cacheDir, cgroups, isolation, network, byCommands }, inner);
  } catch (error) {
    if (!(error instanceof VivariumError && error.code === 'SANDBOX_UNAVAILABLE')) throw error;
    tell({ type: 'unavailable', problem: error.message });
    return;
  }
  await using _ = arena;
  tell({ type: 'ready', hasAllCapabilities: hasAllCapabilities(), guards: arena.isolation.memory });
  const { facts } = arena;
  // Two rows of work side by side: most of both is waiting.
  const plain = new Map(chosen.map(({ id }) => [id, Promise.withResolvers<Finding | null>()]));
  const outside = (async () => {
    for (const attempt of chosen) plain.get(attempt.id)?.resolve(await tryOutside(attempt, outer, facts));
  })();
  for (const attempt of chosen) {
    const row = await tryInside(attempt, arena, inner);
    tell({ type: 'row', row: { ...row, unconfined: (await plain.get(attempt.id)?.promise) ?? null } });
  }
  await outside;
}

async function tryOutside(attempt: Attempt, world: World, facts: Host): Promise<Finding | null> {
  if (values.plain !== 'yes' || attempt.notRun !== null) return null;
  return tryPlain(attempt, world, {
    python,
    directory: path.join(directory, 'outer'),
    facts,
    outputBytes: LIMITS.outputBytes,
  });
}

async function tryInside(attempt: Attempt, arena: Arena, world: World): Promise<Omit<Row, 'unconfined'>> {
  const startedAt = performance.now();
  let isHopeless = false;
  const guard = async <T>(work: Promise<T>, otherwise: (problem: string) => T): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      isHopeless = true;
      return otherwise(
        error instanceof Error
          ? error instanceof Hung
            ? error.message
            : (error.stack ?? error.message)
          : String(error),
      );
    }
  };
  const { finding, state } = await guard<Confined>(tryConfined(attempt, arena, world), (problem) => ({
    finding: { verdict: 'HUNG', detail: problem },
    state: 'unknown',
  }));
  const next = isHopeless ? 'unknown' : await guard(arena.checkNext(arena.attacker, state), (problem) => problem);
  const neighbour = await guard(arena.checkWitness(), (problem) => problem);
  const isUntidy = !isHopeless && state !== 'preserved' && !DAMAGING.includes(attempt.group);
  const isLost = state === 'lost' || (isUntidy && (await arena.tidy()));
  const isDamaged = isLost || (state === 'preserved' && DAMAGING.includes(attempt.group));
  if (isHopeless || next !== 'works' || isDamaged) await arena.refresh(isHopeless || next !== 'works');
  return { id: attempt.id, confined: finding, state, next, neighbour, ms: Math.round(performance.now() - startedAt) };
}

function hasAllCapabilities(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SYS_ADMIN) & 1n) === 1n;
}

function tell(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

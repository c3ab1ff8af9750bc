/** Attempts on mounts: one session changes a directory of the machine, another has a mount from inside of it. */
import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Mount } from '../../src/config.ts';
import type { LocalSession } from '../../src/engine/local/session.ts';
import { VivariumError } from '../../src/errors.ts';
import type { Arena } from './arena.ts';
import type { Attempt, Judge } from './attempts.ts';
import { broken, contained, escaped, wordOf, type Finding } from './verdict.ts';
import type { World } from './world.ts';

/** Fresh interpreters, since a swap that goes on and on succeeds only now and then. */
const LOOKS = 8;
const LOOK = `
import os
def _seen(path):
    try:
        return bool(os.stat(path))
    except OSError:
        return False
print("seen" if any(map(_seen, PATHS)) else "nothing")
`;

interface Places {
  readonly shared: Mount;
  readonly inner: Mount;
}

/** Tries an attempt that changes the source of a mount. */
export async function tryMounted(attempt: Attempt, arena: Arena, world: World): Promise<Finding> {
  const places = await makePlaces(world.directory);
  const secret = world.canaryPath('tmp');
  const look = `PATHS = ${JSON.stringify([secret, `/.host${secret}`, '/forged'].map((each) => `/inner${each}`))}\n${LOOK}`;
  try {
    return await swap(attempt, arena, { places, look });
  } catch (error) {
    if (isRefusal(error)) return contained(error.message);
    throw error;
  }
}

async function swap(
  attempt: Attempt,
  arena: Arena,
  { places: { shared, inner }, look }: { places: Places; look: string },
): Promise<Finding> {
  const roles: Partial<Record<Judge, readonly Mount[]>> = {
    nested: [shared, inner],
    mounted: [shared],
    link: [shared],
  };
  await using attacker = await arena.openMounted(roles[attempt.judge] ?? []);
  await using victim = attempt.judge === 'mounted' ? await arena.openMounted([inner]) : null;
  const { execution } = await arena.tryIn(attacker, attempt);
  const word = wordOf(execution.logs.stdout);
  if (word?.verdict !== 'CONTAINED' || word.detail !== '')
    return broken(execution.error?.traceback ?? word?.detail ?? '');
  if (attempt.judge === 'link') {
    await using later = await arena.openMounted([inner]);
    return judgeLook(await arena.run(later, look));
  }
  return await lookAgain(arena, victim ?? attacker, look);
}

/** A session that cannot be reset says why, and has none of what it should not have. */
async function lookAgain(arena: Arena, session: LocalSession, look: string): Promise<Finding> {
  const refusals: string[] = [];
  for (let count = 0; count < LOOKS; count += 1) {
    try {
      await session.reset();
      const finding = judgeLook(await arena.run(session, look));
      if (finding.verdict !== 'CONTAINED') return finding;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusals.push(error.message);
    }
  }
  return contained(refusals.at(-1));
}

/** Walls that cannot be built as they were configured are refused in these ways. */
function isRefusal(error: unknown): error is VivariumError {
  return error instanceof VivariumError && ['CONFIG_INVALID', 'ENGINE_FAILED'].includes(error.code);
}

function judgeLook({ logs, error }: Awaited<ReturnType<Arena['run']>>): Finding {
  if (logs.stdout === 'seen\n') return escaped('it sees what was not mounted');
  return logs.stdout === 'nothing\n' ? contained() : broken(error?.traceback ?? logs.stdout);
}

async function makePlaces(directory: string): Promise<Places> {
  const source = await mkdtemp(path.join(directory, 'shared-'));
  const inner = path.join(source, 'outer', 'inner');
  await mkdir(inner, { recursive: true });
  await writeFile(path.join(inner, 'file'), 'of the machine');
  for (const each of [source, path.dirname(inner), inner]) await chmod(each, 0o777);
  return {
    shared: { source, target: '/shared', writable: true },
    inner: { source: inner, target: '/inner', writable: false },
  };
}

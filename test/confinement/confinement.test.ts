/**
 * Real attempts to break out. Each is made without walls, where it must succeed (else it proves nothing), and inside a
 * session, where it must not. After each, the session works or says what it lost, and its neighbour has noticed nothing.
 */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { parseWorkerFrame } from '../../src/engine/local/protocol/worker-frame.ts';
import { choosePython } from '../../src/host/local/python.ts';
import { attempts, framesProgram, type Attempt } from './attempts.ts';
import { Pass, Unavailable } from './pass.ts';
import type { Row } from './verdict.ts';

const NOBODY = { uid: 65534, gid: 65534 };
/** The only Python of which we know that everybody may run it. */
const SYSTEM_PYTHON = '/usr/bin/python3';
const MUST_ESCAPE = 60;
const PASS_MS = 240_000;
/** What control groups guard must hold without them too. */
const WITHOUT_GROUPS = attempts.filter(({ group }) => ['memory', 'resources'].includes(group));

const isRoot = process.getuid?.() === 0;
const isRequired = process.env['CI'] === 'true';
const { python } = await choosePython(parseConfig({}));
const own = new Pass({
  name: isRoot ? 'as root' : 'as an ordinary user',
  attempts,
  python,
  cgroups: true,
  plain: true,
});
const nobody =
  isRoot && isExecutable(SYSTEM_PYTHON)
    ? new Pass({ name: 'as nobody', attempts, python: SYSTEM_PYTHON, identity: NOBODY, cgroups: true, plain: true })
    : null;
const ungrouped = new Pass({
  name: 'without control groups',
  attempts: WITHOUT_GROUPS,
  python,
  cgroups: false,
  plain: false,
});
const passes = [own, nobody, ungrouped].filter((pass) => pass !== null);

beforeAll(() => {
  // Side by side: most of each is waiting. What goes wrong is told by the tests that wait for it.
  for (const pass of [own, nobody]) pass?.run().catch(() => undefined);
});
afterAll(printTable, PASS_MS);

for (const pass of passes) {
  describe(`Attempts ${pass.options.name}`, () => {
    beforeAll(() => void pass.run().catch(() => undefined)); // told by the tests, too

    for (const attempt of pass.options.attempts) {
      test(`${attempt.id}: ${attempt.description}`, { timeout: PASS_MS }, async (context) => {
        const row = await rowOf(pass, attempt, context);
        if (row.confined.verdict === 'ABSENT') context.skip(row.confined.detail);
        if (!pass.isGuarded(attempt)) context.skip(`NOT CONTAINED WITHOUT ${attempt.guard}: ${row.confined.verdict}`);
        expect(row).toMatchObject({ confined: { verdict: 'CONTAINED' }, next: 'works', neighbour: 'intact' });
        if (pass.options.plain) judgePlain(attempt, row, pass.isPrivileged);
      });
    }

    test('nothing is left behind', { timeout: PASS_MS }, async (context) => {
      await rowsOf(pass, context);
      await pass.run();
      expect(pass.leftovers).toEqual([]);
    });

    test.runIf(pass.options.plain)('enough attempts get out where there are no walls', async (context) => {
      const out = (await rowsOf(pass, context)).filter(({ unconfined }) => unconfined?.verdict === 'ESCAPED');
      expect(out.length).toBeGreaterThanOrEqual(MUST_ESCAPE);
    });
  });
}

test('the frames that attempts forge are such as a worker may send', () => {
  const frames = JSON.parse(execFileSync(python, ['-c', framesProgram()], { encoding: 'utf8' })) as unknown[];
  expect(frames.length).toBeGreaterThan(0);
  for (const header of frames) parseWorkerFrame({ header, payload: Buffer.alloc(0), size: 0, cost: 0 });
});

test.runIf(isRoot && nobody === null)('root can try as nobody too', (context) => {
  if (!isRequired) context.skip(`NOT TRIED AS NOBODY: there is no ${SYSTEM_PYTHON}`);
  expect.fail(`there is no ${SYSTEM_PYTHON} to try as nobody`);
});

/** An attempt must get out without walls, unless it needs what this user or this machine does not have. */
function judgePlain({ notRun, needs }: Attempt, { unconfined }: Row, isPrivileged: boolean): void {
  if (notRun !== null) return;
  const isCertain = needs === null || (needs === 'root' && isPrivileged);
  expect(unconfined?.verdict).toBeOneOf(isCertain ? ['ESCAPED'] : ['ESCAPED', 'CONTAINED', 'ABSENT']);
}

async function rowOf(pass: Pass, attempt: Attempt, context: TestContext): Promise<Row> {
  return orSkip(pass.row(attempt), context);
}

async function rowsOf(pass: Pass, context: TestContext): Promise<Row[]> {
  return orSkip(pass.rows(), context);
}

/** Where the walls cannot be built there is nothing to test, but a machine that must be able to is broken. */
async function orSkip<T>(promise: Promise<T>, context: TestContext): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof Unavailable && !isRequired) context.skip(`NO CONFINEMENT ON THIS MACHINE: ${error.message}`);
    throw error;
  }
}

async function printTable(): Promise<void> {
  const columns = await Promise.all(
    passes.map(async (pass) => {
      const rows = await pass.rows().catch(() => []); // told by the tests
      return new Map(rows.map((row) => [row.id, row]));
    }),
  );
  const titles = passes.map(({ options }) =>
    options.plain ? `${options.name}: without walls > inside` : `${options.name}: inside`,
  );
  const lines = attempts.map((attempt) => [
    attempt.id,
    ...columns.map((rows) => describeRow(attempt, rows.get(attempt.id))),
  ]);
  const table = [['attempt', ...titles], ...lines].map((cells) =>
    cells.map((cell, index) => cell.padEnd(index === 0 ? 44 : 40)).join(''),
  );
  process.stdout.write(`\n${table.join('\n')}\n`);
}

function describeRow({ notRun }: Attempt, row: Row | undefined): string {
  if (row === undefined) return '-';
  const inside = row.state === 'preserved' ? row.confined.verdict : `${row.confined.verdict} (${row.state})`;
  if (row.unconfined !== null) return `${row.unconfined.verdict} > ${inside}`;
  return notRun === null ? inside : `not run > ${inside}`;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

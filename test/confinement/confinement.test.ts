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
const AS_NOBODY = { identity: NOBODY, python: SYSTEM_PYTHON };
const MUST_ESCAPE = 60;
const PASS_MS = 240_000;
/** What control groups guard must hold without them too. */
const WITHOUT_GROUPS = attempts.filter(({ group }) => ['memory', 'resources'].includes(group));

/** Attempts on the gate are made where there is one. */
const WITHOUT_GATE = attempts.filter(({ group }) => group !== 'gate');
const WITH_LIST = attempts.filter(({ group }) => ['gate', 'network'].includes(group));

/** The groups that must hold at the level landlock. The others are about limits, twins and frames, as with namespaces. */
const AT_LANDLOCK = ['files', 'inheritance', 'neighbours', 'network', 'privilege', 'processes', 'same_user', 'secrets'];
/** What does not hold at that level, and why that is so. */
const OPEN_AT_LANDLOCK: Readonly<Record<string, string>> = {
  'secrets/read_host_name': 'there is no namespace for the name of the machine',
};
const THE_NETWORK = 'the network that is asked for is that of the machine';
const OPEN_WITH_NETWORK: Readonly<Record<string, string>> = {
  'network/connect_to_host_tcp': THE_NETWORK,
  'network/connect_to_host_tcp6': THE_NETWORK,
  'network/connect_to_host_udp': THE_NETWORK,
  'network/connect_to_host_address': THE_NETWORK,
  'network/route_to_internet': THE_NETWORK,
  'network/listen_for_host': THE_NETWORK,
};

/** What must hold for commands of a session as it does for its Python: they come to their walls by another way. */
const BY_COMMANDS = attempts.filter(
  ({ group, judge }) => ['files', 'network', 'pid_one', 'privilege'].includes(group) && judge === 'word',
);

const isRoot = process.getuid?.() === 0;
const isRequired = process.env['CI'] === 'true';
const { python } = await choosePython(parseConfig({}));
const own = new Pass({
  name: isRoot ? 'as root' : 'as an ordinary user',
  attempts: WITHOUT_GATE,
  python,
  cgroups: true,
  plain: true,
});
const nobody =
  isRoot && isExecutable(SYSTEM_PYTHON)
    ? new Pass({ ...AS_NOBODY, name: 'as nobody', attempts: WITHOUT_GATE, cgroups: true, plain: true })
    : null;
/** A list of hosts is possible only where there are namespaces. */
const listed = [
  { name: isRoot ? 'with a list of hosts, as root' : 'with a list of hosts', python },
  ...(nobody === null ? [] : [{ ...AS_NOBODY, name: 'with a list of hosts, as nobody' }]),
].map((user) => new Pass({ ...user, attempts: WITH_LIST, cgroups: true, plain: true, network: 'list' }));
const ungrouped = new Pass({
  name: 'without control groups',
  attempts: WITHOUT_GROUPS,
  python,
  cgroups: false,
  plain: false,
});
const commanded = commandPasses();
const landlocked = landlockPasses();
const passes = [own, nobody, ungrouped, ...listed, ...commanded, ...landlocked].filter((pass) => pass !== null);

beforeAll(() => {
  // Side by side: most of each is waiting. What goes wrong is told by the tests that wait for it.
  for (const pass of [own, nobody]) pass?.run().catch(() => undefined);
});
afterAll(printTable, PASS_MS);

for (const pass of passes) {
  describe(`Attempts ${pass.options.name}`, () => {
    beforeAll(() => {
      const together = [commanded, landlocked, listed].find((group) => group.includes(pass)) ?? [pass];
      for (const each of together) each.run().catch(() => undefined); // told by the tests, too
    });

    for (const attempt of pass.options.attempts) {
      test(`${attempt.id}: ${attempt.description}`, { timeout: PASS_MS }, async (context) => {
        const row = await rowOf(pass, attempt, context);
        if (row.confined.verdict === 'ABSENT') context.skip(row.confined.detail);
        const reason = pass.options.open?.[attempt.id];
        if (reason !== undefined) context.skip(`NOT HELD, BECAUSE ${reason}: ${row.confined.verdict}`);
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

    test.runIf(pass === own || pass === nobody)('enough attempts get out where there are no walls', async (context) => {
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

/** The same attempts, made by commands of the session. */
function commandPasses(): Pass[] {
  const common = { cgroups: true, plain: false, byCommands: true } as const;
  const user = isRoot ? 'as root' : 'as an ordinary user';
  const strong = new Pass({ name: `by commands, ${user}`, attempts: BY_COMMANDS, python, ...common });
  if (!isExecutable(SYSTEM_PYTHON)) return [strong];
  const name = `by commands at the level landlock, ${user}`;
  const reachable = BY_COMMANDS.filter(({ group }) => AT_LANDLOCK.includes(group));
  const weak = { name, attempts: reachable, python: SYSTEM_PYTHON, isolation: 'landlock', ...common } as const;
  return [strong, new Pass(weak)];
}

/** Everybody has to reach the Python at that level, because sessions have no root of their own. */
function landlockPasses(): Pass[] {
  if (!isExecutable(SYSTEM_PYTHON)) return [];
  const users = isRoot
    ? [{ user: 'as root' }, { user: 'as nobody', identity: NOBODY }]
    : [{ user: 'as an ordinary user' }];
  const common = { python: SYSTEM_PYTHON, cgroups: true, plain: false, isolation: 'landlock' } as const;
  return users.flatMap(({ user, ...identity }) => [
    new Pass({
      name: `at the level landlock, ${user}`,
      attempts: attempts.filter(({ group }) => AT_LANDLOCK.includes(group)),
      open: OPEN_AT_LANDLOCK,
      ...common,
      ...identity,
    }),
    new Pass({
      name: `at the level landlock with a network, ${user}`,
      attempts: attempts.filter(({ group }) => ['network', 'same_user'].includes(group)),
      open: OPEN_WITH_NETWORK,
      network: true,
      ...common,
      ...identity,
    }),
  ]);
}

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

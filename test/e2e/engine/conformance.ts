/**
 * What every engine must do alike, whatever its sessions live in. Where engines differ by nature, a trait says so, and the
 * other behaviour is demanded instead: nothing is left untested.
 */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changedSince, takeInventory } from '../../../src/artifact/changes.ts';
import { Limits } from '../../../src/config.ts';
import type { Engine, EngineSession, OpenOptions } from '../../../src/engine/engine.ts';
import type { Event } from '../../../src/execution/event.ts';
import type { Execution } from '../../../src/execution/execution.ts';
import { foldExecution } from '../../../src/execution/fold.ts';
import type { Workspace } from '../../../src/workspace/workspace.ts';
import { LIBRARIES, OUTPUT, VALUES, VARIABLES } from './conformance-cases.ts';
import { Subject } from './laboratory.ts';

export interface Traits {
  /** The state before a crash, or before an interrupt that is not heeded, is brought back. */
  readonly restoresState: boolean;
  readonly rollsBack: boolean;
  readonly level: Execution['isolation']['level'];
  /** How an exception is told; engines leave the wording of frames to who runs the code. */
  readonly tracebackOf: (line: number) => RegExp;
  /** What ends a process for certain is noticed after at most so long. */
  readonly noticesDeathMs: number;
}

export interface Testbed extends AsyncDisposable {
  readonly engine: Engine;
}

const GRACE_MS = 300;
const FOREVER = 'while True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        pass';
const ASLEEP = "print('begun', flush=True)\nimport time\ntime.sleep(60)";

/** Runs the suite on an engine. */
export function conformance(name: string, start: () => Promise<Testbed>, traits: Traits): void {
  describe(`${name} as an engine`, () => {
    let bed: Testbed;
    let shared: Subject<EngineSession>;
    const limits = Limits.parse({ graceMs: GRACE_MS, timeoutMs: 30_000 });
    const open = async (options: Partial<OpenOptions> = {}): Promise<Subject<EngineSession>> => {
      const fixed = {
        id: 'subject',
        limits,
        mounts: [],
        network: false,
        readOnly: false,
        environment: {},
        twins: true,
      };
      return new Subject(await bed.engine.open({ ...fixed, ...options }), limits);
    };
    beforeAll(async () => {
      bed = await start();
      shared = await open();
    });
    afterAll(() => bed?.[Symbol.asyncDispose]());

    describe.each([
      ['values', VALUES],
      ['output', OUTPUT],
      ['variables', VARIABLES],
      ['libraries', LIBRARIES],
    ] as const)('%s', (_, cases) => {
      test.each(cases)('$title', async ({ before, code, settings, expected }) => {
        if (before !== undefined) await shared.run(before);
        expect(await shared.run(code, settings)).toMatchObject(expected);
      });
    });

    test('an exception is a result with name, message and traceback', async () => {
      const { outcome, error, logs } = await shared.run("print('before')\n\nint('x')");
      expect(outcome).toEqual({ status: 'raised' });
      expect(error).toMatchObject({
        name: 'ValueError',
        value: "invalid literal for int() with base 10: 'x'",
        traceback: expect.stringMatching(traits.tracebackOf(3)) as string,
      });
      expect(error?.traceback).not.toContain('\x1b');
      expect(logs.stdout).toBe('before\n');
    });

    test('a syntax error is a result too', async () => {
      const { outcome, error } = await shared.run('def (');
      expect(outcome.status).toBe('raised');
      expect(error?.name).toBe('SyntaxError');
    });

    test('output comes while the code runs', async () => {
      const events = shared.stream(ASLEEP);
      const first: IteratorResult<Event, void> = await events.next();
      expect(first.value).toMatchObject({
        type: 'output',
        stream: 'stdout',
        text: expect.stringContaining('begun') as string,
      });
      await events.return(); // leaving stops the program
      expect(await shared.evaluate('1 + 1')).toBe('2');
    });

    test('an interrupt ends the run and keeps the state', async () => {
      await shared.run('kept = 7');
      const execution = await whileRunning(shared.stream(ASLEEP), () => shared.session.interrupt());
      expect(execution).toMatchObject({ outcome: { status: 'cancelled' }, state: { status: 'preserved' } });
      expect(await shared.evaluate('kept')).toBe('7');
    });

    test('an abort cancels, also one that came before the run', async () => {
      const controller = new AbortController();
      const events = shared.stream(ASLEEP, { signal: controller.signal });
      expect((await whileRunning(events, () => controller.abort())).outcome).toEqual({ status: 'cancelled' });
      expect((await shared.run(ASLEEP, { signal: AbortSignal.abort() })).outcome).toEqual({ status: 'cancelled' });
      expect(await shared.evaluate('1 + 1')).toBe('2');
    });

    test('at the time limit the code is interrupted, with its output and the state kept', async () => {
      const execution = await shared.run("late = 1\nprint('partial')\nimport time; time.sleep(60)", { timeoutMs: 500 });
      expect(execution).toMatchObject({
        outcome: { status: 'timed-out', limit: 'wall', limitMs: 500 },
        logs: { stdout: 'partial\n' },
        error: { name: 'KeyboardInterrupt' },
        state: { status: 'preserved' },
      });
      expect(await shared.evaluate('late')).toBe('1');
    });

    test('what does not heed the interrupt is ended, and the receipt says what became of the state', async () => {
      await using subject = await open();
      await subject.run('before = 1\nimport time');
      const execution = await subject.run(FOREVER, { timeoutMs: 300 });
      expect(execution.outcome.status).toBe('timed-out');
      expect(execution.durationMs).toBeLessThan(300 + GRACE_MS + 3000);
      await expectLoss(subject, execution);
    });

    test('a crash ends the run at once, and nothing is run again', async () => {
      await using subject = await open();
      await subject.run('before = 1');
      const execution = await subject.run("open('runs', 'a').write('x')\nimport os\nos.kill(os.getpid(), 9)");
      expect(execution.outcome.status).toBe('crashed');
      expect(execution.durationMs).toBeLessThan(traits.noticesDeathMs);
      await expectLoss(subject, execution);
      expect(String(await read(subject.session.workspace, 'runs'))).toBe('x');
    });

    async function expectLoss(subject: Subject<EngineSession>, { state }: Execution): Promise<void> {
      expect(state.status).toBe(traits.restoresState ? 'restored' : 'lost');
      expect(state.reason).toBeTruthy();
      expect(state.generation).toBe(2);
      const next = await subject.run("'before' in globals()");
      expect(next.results[0]?.data['text/plain']).toBe(traits.restoresState ? 'True' : 'False');
      expect(next.state).toMatchObject({ status: 'preserved', generation: 2 });
    }

    test('an engine without twins says so with every result', async () => {
      const { state } = await shared.run('guarded = 1');
      expect(state.unprotected === undefined).toBe(traits.restoresState);
    });

    test.runIf(traits.rollsBack)('rollback undoes the last run', async () => {
      await using subject = await open();
      await subject.run('value = 1');
      await subject.run('value = 2');
      await subject.session.rollback();
      expect(await subject.evaluate('value')).toBe('1');
    });

    test.runIf(!traits.rollsBack)('rollback says that it cannot, and changes nothing', async () => {
      await shared.run('value = 1');
      await expect(shared.session.rollback()).rejects.toMatchObject({ code: 'NOTHING_TO_ROLL_BACK' });
      expect(await shared.evaluate('value')).toBe('1');
    });

    test('reset gives a fresh interpreter on the same files', async () => {
      await using subject = await open({ environment: { GREETING: 'hello' } });
      await subject.run("value = 1\nopen('kept.txt', 'w').write('kept')");
      await subject.session.reset();
      expect(await subject.session.revive()).toBe(true);
      expect(await subject.evaluate("'value' in globals(), open('kept.txt').read()")).toBe("(False, 'kept')");
      expect(await subject.evaluate("__import__('os').environ['GREETING']")).toBe("'hello'");
      expect((await subject.run('1')).state).toMatchObject({ status: 'preserved', generation: 2 });
    });

    test('inspect lists the variables and no more', async () => {
      await using subject = await open();
      await subject.run("number = 42\nwords = ['a', 'b']\nimport json");
      expect(await subject.session.inspect()).toMatchObject([
        { name: 'number', type: 'int', description: '42' },
        { name: 'words', type: 'list', description: 'list of 2' },
      ]);
    });

    test('what a run writes is found, and files go in and out', async () => {
      await using subject = await open();
      const { workspace } = subject.session;
      await workspace.write('data/in put ä.csv', 'a,b\n1,2\n');
      const before = await takeInventory(workspace);
      await subject.run("text = open('data/in put ä.csv').read()\nopen('out.csv', 'w').write(text * 2)");
      const written = changedSince(before, await takeInventory(workspace));
      expect(written).toMatchObject([{ path: 'out.csv', sizeBytes: 16, change: 'created' }]);
      expect((await workspace.list()).files.map((file) => file.path).toSorted()).toEqual([
        'data/in put ä.csv',
        'out.csv',
      ]);
      expect(String(await read(workspace, 'out.csv'))).toBe('a,b\n1,2\na,b\n1,2\n');
      await workspace.remove('out.csv');
      await expect(workspace.open('out.csv')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
      await expect(workspace.open('../secret')).rejects.toMatchObject({ code: 'FILE_REFUSED' });
      await expect(workspace.write('large', 'x'.repeat(11), { maxBytes: 10 })).rejects.toMatchObject({
        code: 'FILE_TOO_LARGE',
      });
    });

    test('20 megabytes go in and out unharmed', async () => {
      await using subject = await open();
      const { workspace } = subject.session;
      const bytes = Buffer.alloc(20 << 20, 'vivarium ');
      await workspace.write('large.bin', 'to be replaced');
      await workspace.write('large.bin', bytes);
      expect(await subject.evaluate("__import__('hashlib').sha256(open('large.bin', 'rb').read()).hexdigest()")).toBe(
        `'${createHash('sha256').update(bytes).digest('hex')}'`,
      );
      expect((await read(workspace, 'large.bin')).equals(bytes)).toBe(true);
      expect((await workspace.list()).files).toHaveLength(1);
    });

    test('sessions share neither variables nor files', async () => {
      await using one = await open({ id: 'one' });
      await using other = await open({ id: 'other' });
      await one.run("secret = 1\nopen('secret.txt', 'w').close()");
      expect(await other.evaluate("'secret' in globals(), __import__('os').listdir()")).toBe('(False, [])');
    });

    test('isolation says what confines a session', async () => {
      const { isolation } = await shared.run('1');
      expect(isolation.level).toBe(traits.level);
      expect(isolation).toEqual(shared.session.isolation);
    });

    test('a closed session refuses, and closing again is no error', async () => {
      const subject = await open();
      await Promise.all([subject.session.close(), subject.session.close()]);
      await subject.session.close();
      await expect(subject.run('1')).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    });

    test('closing a session ends what runs in it', async () => {
      const subject = await open();
      const execution = await whileRunning(subject.stream(ASLEEP), () => subject.session.close());
      expect(execution.outcome.status).toBeOneOf(['cancelled', 'crashed']);
    });
  });
}

async function read(workspace: Workspace, path: string): Promise<Buffer> {
  const file = await workspace.open(path);
  return buffer(file.stream());
}

/** Acts when the code says that it has begun. */
async function whileRunning(events: AsyncIterable<Event>, act: () => unknown): Promise<Execution> {
  let acting: Promise<unknown> | undefined;
  async function* watched(): AsyncGenerator<Event, void, undefined> {
    for await (const event of events) {
      if (event.type === 'output') acting ??= Promise.resolve(act());
      yield event;
    }
  }
  const execution = await foldExecution(watched(), 1 << 20);
  expect(acting).toBeDefined();
  await acting;
  return execution;
}

/** Results of real programs fit the schemas: nothing is refused, and nothing is unknown. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { Transcript } from '../../src/execution/transcript.ts';
import { createHost, type Event, type Execution, type Host, type Session } from '../../src/index.ts';
import { ArtifactSchema, FileFactsSchema, FileListSchema } from '../../src/wire/artifact.ts';
import { EventSchema } from '../../src/wire/event.ts';
import { ExecutionSchema } from '../../src/wire/execution.ts';
import { CompletionSchema, RollbackSchema, SessionInfoSchema, VariableSchema } from '../../src/wire/session.ts';
import { expectValid } from './json-schema.ts';

const LIMITS = { timeoutMs: 2000, graceMs: 100, memoryMb: 192, outputBytes: 20_000 };

let host: Host;
beforeAll(async () => {
  host = await createHost({ limits: LIMITS });
});
afterAll(() => host.close());

/** The JSON that arrives elsewhere. */
function sent(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

/** The zod schema knows every key, and the JSON Schema of that name accepts the value. */
function expectRoundTrip(name: string, schema: z.ZodType, json: unknown): void {
  expect(z.encode(schema, z.decode(schema, json as never))).toEqual(json);
  expectValid(name, json);
}

/** Runs code, and checks each event and the execution that they add up to. */
async function run(session: Session, code: string, options = {}): Promise<{ events: Event[]; execution: Execution }> {
  const transcript = new Transcript(LIMITS.outputBytes);
  const events: Event[] = [];
  for await (const event of session.stream(code, options)) {
    events.push(event);
    transcript.add(event);
    expectRoundTrip('Event', EventSchema, sent(event));
  }
  const execution = transcript.execution();
  expectRoundTrip('Execution', ExecutionSchema, sent(execution));
  return { events, execution };
}

const PLOT = `import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [4, 5, 6], label='a')
plt.title('Lines')
`;
const TABLE = `import pandas as pd
frame = pd.DataFrame({'when': pd.date_range('2024-01-01', periods=3), 'n': [1, None, 3]}, index=['x', 'y', 'z'])
wide = pd.DataFrame([range(200)] * 100)
frame
`;

const PROGRAMS: Readonly<Record<string, readonly [code: string, status: string, parts: readonly string[]]>> = {
  'prints on both streams': [
    'import sys\nprint("a")\nprint("b", file=sys.stderr)\n1 + 1',
    'succeeded',
    ['output', 'result'],
  ],
  'shows a figure': [`${PLOT}plt.show()`, 'succeeded', ['result', 'figure']],
  'saves a figure': [`${PLOT}plt.savefig('lines.png')\nplt.close()`, 'succeeded', ['file', 'figure']],
  'makes tables': [TABLE, 'succeeded', ['result']],
  'writes files': ['open("a.txt", "w").write("a")\nopen("b.bin", "wb").write(b"\\0" * 999)', 'succeeded', ['file']],
  'clears its output': [
    'print("gone")\nfrom IPython.display import clear_output\nclear_output()\nprint("kept")',
    'succeeded',
    ['clear'],
  ],
  raises: ['def f():\n  raise ValueError("no \\ud800 way")\nf()', 'raised', []],
  exits: ['import sys\nsys.exit(3)', 'raised', []],
  'is not Python': ['1 +', 'raised', []],
  'takes too long': ['while True: pass', 'timed-out', []],
  'needs too much memory': ['hog = [bytes(2 ** 20) for _ in range(2000)]', 'out-of-memory', []],
  crashes: ['import os\nos.kill(os.getpid(), 11)', 'crashed', []],
  'ends its process': ['import os\nos._exit(7)', 'crashed', []],
};

test.for(Object.entries(PROGRAMS))('a program that %s', async ([, [code, status, parts]]) => {
  await using session = await host.createSession();
  await run(session, 'before = 1');
  const { events, execution } = await run(session, code);
  expect(execution.outcome.status, execution.error?.traceback).toBe(status);
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining([...parts, 'done']));
  await run(session, 'before');
});

test('the rarer parts: a value, shortened output, a restored state, a cancelled run', async () => {
  await using session = await host.createSession();
  const value = 'value = {"nan": float("nan"), "set": {1}, "deep": [[None, True, 1.5]]}';
  expect((await run(session, value, { resultVariable: 'value' })).execution.value).toBeDefined();
  const long = await run(session, 'print("x" * 100_000)');
  expect(long.execution).toMatchObject({ truncated: { stdout: {} }, spills: { stdout: {} } });
  expect((await run(session, 'import os\nos.abort()')).execution.state).toMatchObject({ status: 'restored' });
  const endless = await run(session, 'print(1)\nwhile True: pass', { signal: AbortSignal.timeout(300) });
  expect(endless.execution.outcome.status).toBe('cancelled');
});

test('sessions, variables, files, artifacts and rollbacks', async () => {
  await using session = await host.createSession({ clientId: 'c' });
  expectRoundTrip('SessionInfo', SessionInfoSchema, sent(await session.info()));
  await run(session, `${TABLE}\nx = object()`);
  expectRoundTrip('Completion', CompletionSchema, sent(await session.complete('prin')));
  for (const variable of await session.inspect()) expectRoundTrip('Variable', VariableSchema, sent(variable));
  expectRoundTrip('Artifact', ArtifactSchema, sent(await session.exportTable('frame')));
  await run(session, 'y = 2');
  await session.files.upload('a/b.txt', 'b');
  expectRoundTrip('FileList', FileListSchema, sent(await session.files.list()));
  expectRoundTrip('FileFacts', FileFactsSchema, sent(await session.files.upload('c.txt', 'c')));
  expectRoundTrip('Rollback', RollbackSchema, sent(await session.rollback()));
  const running = session.runCode('print(1)');
  for (const info of await host.listSessions()) expectRoundTrip('SessionInfo', SessionInfoSchema, sent(info));
  await running;
  const info = await session.info();
  expect(z.decode(SessionInfoSchema, z.encode(SessionInfoSchema, info))).toEqual(info);
  await session.close();
  expectRoundTrip('SessionInfo', SessionInfoSchema, sent(await session.info()));
});

const ROOT = path.resolve(import.meta.dirname, '../..');

test.for([
  ['print(1)\n2', 'succeeded'],
  ['1 / 0', 'raised'],
  ['import matplotlib.pyplot as plt\nplt.plot([1])\nopen("a", "w")', 'succeeded'],
] as const)('`vivarium run --json` prints the wire form of %j', async ([code, status]) => {
  const args = [path.join(ROOT, 'src/cli/main.ts'), 'run', '--json', '-c', code];
  const { stdout } = await promisify(execFile)(process.execPath, args).catch((error: unknown) => {
    return error as { stdout: string }; // the exit code of a program that raised
  });
  const printed: unknown = JSON.parse(stdout);
  expect(printed).toMatchObject({ outcome: { status } });
  expectRoundTrip('Execution', ExecutionSchema, printed);
});

/** A program that closes nothing ends by itself when its last line has run, also with open connections. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Server } from '../../../src/server/server.ts';
import { openTestServer } from '../../support/remote-server.ts';
import { runProgram } from '../exit/program.ts';

/** About a second on a quiet machine. */
const SOON_MS = 3000;

let server: Server;
beforeAll(async () => {
  server = await openTestServer();
});
afterAll(() => server?.close());

const HOST = "import { createHost } from 'vivarium';\nconst host = await createHost();\n";
const SESSION = `${HOST}const session = await host.createSession();\n`;

const PROGRAMS = {
  'a host alone': HOST,
  'a session': `${SESSION}await session.runCode('x = 1');`,
  'a stream that nobody reads to its end': `${SESSION}
    const events = session.stream('print(1, flush=True)\\nimport time; time.sleep(60)');
    await events.next();`,
  'a download that nobody reads': `${SESSION}
    await session.files.upload('a', Buffer.alloc(5_000_000));
    await session.files.download('a');`,
  'several connections': `${SESSION}await Promise.all([1, 2, 3, 4].map(() => session.info()));`,
  'the toolset': `import { PythonInterpreterToolSet } from 'vivarium/tools';
    await new PythonInterpreterToolSet({ name: 'python' }).run_python_code('x = 1');`,
} as const;

test.for(Object.entries(PROGRAMS))('a program with %s that closes nothing ends by itself', async ([, code]) => {
  const ended = await runProgram(`${code}\nconsole.log('end');`, { env: { VIVARIUM_URL: server.url } });
  expect({ code: ended.code, stderr: ended.stderr, leftovers: ended.leftovers }).toEqual({
    code: 0,
    stderr: '',
    leftovers: [],
  });
  expect(ended.lingeredMs).toBeLessThan(SOON_MS);
});

test('what a program waits for keeps it alive', async () => {
  const ended = await runProgram(
    `${SESSION}
    console.log((await session.runCode('import time; time.sleep(0.5); 7 * 6')).results[0].data['text/plain']);
    for await (const event of session.stream('time.sleep(0.5); print("late")')) if (event.type === 'output') console.log(event.text);
    const command = await session.spawn(['sh', '-c', 'sleep 0.5; echo done']);
    console.log((await command.result).stdout);
    console.log('end');`,
    { env: { VIVARIUM_URL: server.url } },
  );
  expect(ended).toMatchObject({ code: 0, stderr: '', stdout: '42\nlate\n\ndone\n\nend\n' });
});

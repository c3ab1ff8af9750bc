/** What a reviewer sees of the preview of code, and what approving it then does. */
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { createHost } from '../../../src/index.ts';
import type { Effects } from '../../../src/service/approval/effects.ts';
import {
  EPICS,
  Laboratory,
  question,
  readJson,
  REQUEST,
  thread,
  WRITES,
  type Sections,
  type Service,
} from './laboratory.ts';

const laboratory = new Laboratory();

const ALL_CODE = { approval: { capabilities: { python_execution: { mode: 'all_code' } } } };
const APPROVE = new Command({ resume: { approved: true } });

interface Shown {
  readonly user_message: string;
  readonly resume_payload: { readonly effects: Effects | null } & Readonly<Record<string, unknown>>;
}

/** What the reviewer of a request sees. */
async function shown({ service }: Service): Promise<Shown> {
  return question(await service.run({ ...REQUEST, expected_results: {} }, thread('t'))).payload as unknown as Shown;
}

/** The code with its effects, and the results after approval. */
async function tried(
  code: string,
  config: Sections = ALL_CODE,
): Promise<{ effects: Effects | null; results: unknown }> {
  await using lab = await laboratory.start({ config, code });
  const { effects } = (await shown(lab)).resume_payload;
  const { executionResult } = await lab.service.invoke(APPROVE, thread('t'));
  return { effects, results: executionResult.results };
}

test('what the reviewer saw is what is committed: the code ran once', async () => {
  const code = 'import random, time\nresults = {"n": random.random(), "t": str(time.time_ns())}\nprint(results)';
  await using lab = await laboratory.start({ config: ALL_CODE, code });
  const { user_message: message, resume_payload: payload } = await shown(lab);
  expect(payload.effects).toMatchObject({ status: 'succeeded', isComplete: true, attempts: [] });
  const { executionResult } = await lab.service.invoke(APPROVE, thread('t'));
  expect(message).toContain(executionResult.stdout.trim());
  expect(message).toContain(executionResult.results['t']);
  const audit = await lab.service.audit.list({ threadId: 'python_executor/t' });
  expect(audit.map(({ action }) => action)).toEqual(['requested', 'approved', 'claimed', 'committed', 'finished']);
});

test('figures and files of a preview are part of what is committed', async () => {
  const code =
    'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig("plot.png")\nresults = {"plots": ["plot.png"]}';
  const config = { ...WRITES, ...ALL_CODE };
  await using lab = await laboratory.start({ config, code: `${EPICS}_w('magnet', 1)\n${code}` });
  const { effects } = (await shown(lab)).resume_payload;
  expect(effects).toMatchObject({ isComplete: true, files: [{ path: 'plot.png' }] });
  const { executionResult } = await lab.service.invoke(APPROVE, thread('t'));
  expect(executionResult.figurePaths.map((file) => path.basename(file))).toEqual(['figure_01.png']);
});

const RUNS_AGAIN = {
  'the network': 'import socket\ntry: socket.create_connection(("127.0.0.1", 9), 1)\nexcept OSError: pass',
  'files outside of its workspace': 'try: open("/data/x", "w")\nexcept OSError: pass',
};
for (const [what, attempt] of Object.entries(RUNS_AGAIN)) {
  test(`code that tried ${what} is run again when it is approved`, async () => {
    const { effects, results } = await tried(
      `${attempt}\nimport time\nresults = {"t": str(time.time_ns())}\nprint(results)`,
    );
    expect(effects).toMatchObject({ isComplete: false, status: 'succeeded' });
    expect(effects?.attempts.length).toBeGreaterThan(0);
    expect(effects?.text).not.toContain((results as { readonly t: string }).t);
  });
}

test('a reviewer sees how code failed behind the walls', async () => {
  await using lab = await laboratory.start({ config: ALL_CODE, code: 'print("before")\n1/0' });
  const { user_message: message, resume_payload: payload } = await shown(lab);
  expect(payload.effects).toMatchObject({ status: 'raised', isComplete: false });
  for (const words of ['it ended as raised', 'before', 'ZeroDivisionError']) expect(message).toContain(words);
});

test('a preview reads what the run will read, and writes nothing', async () => {
  const source = laboratory.fresh();
  chmodSync(source, 0o777);
  writeFileSync(path.join(source, 'in.txt'), 'seven');
  const execution = { local: { mounts: [{ source, target: '/data', writable: true }] } };
  const config = { ...ALL_CODE, ...WRITES, framework: { execution } };
  const code = `${EPICS}_w('magnet', 1)
text = open('/data/in.txt').read()
try: open('/data/out.txt', 'a').write(text)
except OSError as error: text = 'refused'
results = {'text': text}`;
  await using lab = await laboratory.start({ config, code });
  const { effects } = (await shown(lab)).resume_payload;
  expect(effects).toMatchObject({ isComplete: false, attempts: [{ kind: 'file', what: 'write /data/out.txt' }] });
  expect(readdirSync(source)).toEqual(['in.txt']);
  const { executionResult } = await lab.service.invoke(APPROVE, thread('t'));
  expect([executionResult.results, readdirSync(source)]).toEqual([{ text: 'seven' }, ['in.txt', 'out.txt']]);
});

test('what a child process does cannot be seen, so it is run again where the run is given more', async () => {
  const code = 'import subprocess\nprint(subprocess.run(["true"]).returncode)\nresults = {"a": 1}';
  const network = { framework: { execution: { modes: { read_only: { network: true } } } } };
  expect((await tried(code)).effects?.isComplete).toBe(true);
  expect((await tried(code, { ...ALL_CODE, ...network })).effects?.isComplete).toBe(false);
});

test('a write whose effect lies beyond the walls is never taken for done', async () => {
  const network = { framework: { execution: { modes: { write_access: { network: true } } } } };
  const config = { ...ALL_CODE, ...WRITES, ...network };
  const { effects } = await tried(`${EPICS}_w('magnet', 1)\nresults = {'a': 1}`, config);
  expect(effects).toMatchObject({ status: 'succeeded', attempts: [], isComplete: false });
});

test('environment variables of a mode are not shown to reviewers', async () => {
  const secret = 'correct-horse-battery';
  const modes = { read_only: { environment: { LAB_TOKEN: secret, LAB: 'x' } } };
  await using lab = await laboratory.start({
    config: { ...ALL_CODE, framework: { execution: { modes } } },
    code: 'import os\nprint("token", os.environ["LAB_TOKEN"])\nresults = {"a": 1}',
  });
  const payload = await shown(lab);
  expect(JSON.stringify(payload)).not.toContain(secret);
  expect(payload.user_message).toContain('token [LAB_TOKEN]');
});

test('without previews the reviewer is shown the code alone', async () => {
  const config = { approval: { capabilities: { python_execution: { mode: 'all_code', preview: false } } } };
  await using lab = await laboratory.start({ config });
  const { resume_payload: payload, user_message: message } = await shown(lab);
  expect([payload.effects, message.includes('in a preview')]).toEqual([null, false]);
});

test('O-96 a run that was committed has the time at which it ran', async () => {
  const code = 'import time\nresults = {"at": time.time() * 1000}';
  await using lab = await laboratory.start({ config: ALL_CODE, code });
  await shown(lab);
  await sleep(1100);
  const { executionResult } = await lab.service.invoke(APPROVE, thread('t'));
  const { start_time, end_time } = readJson(
    path.join(executionResult.folderPath, 'execution_metadata.json'),
  ) as Readonly<Record<string, string>>;
  const at = executionResult.results['at'] as number;
  expect([Date.parse(start_time ?? '') <= at, Date.parse(end_time ?? '') < at + 1000]).toEqual([true, true]);
});

test('without a sandbox nothing runs before it is approved', async () => {
  const marks = laboratory.fresh();
  const code = `open(${JSON.stringify(path.join(marks, 'ran'))}, 'w').close()\nresults = {}`;
  await using host = await createHost({ isolation: 'none', preload: [], poolSize: 0 });
  await using lab = await laboratory.start({ config: ALL_CODE, code, options: { host } });
  const { resume_payload: payload, user_message: message } = await shown(lab);
  expect([payload.effects, readdirSync(marks)]).toEqual([null, []]);
  expect(message).toContain('Nothing confines it (isolation none)');
  expect(message).toContain('does not stop a write over the network');
  await lab.service.invoke(APPROVE, thread('t'));
  expect(readdirSync(marks)).toEqual(['ran']);
});

test('a session cannot hide from the reviewer what it wrote', async () => {
  const code = `open('evil.txt', 'w').write('x')
import gc
for one in gc.get_objects():
    if '_has_touched' in (getattr(one, '__dict__', None) or {}):
        protocol = type(one)._begin_change.__globals__['protocol']
        encode = protocol.encode
        protocol.encode = lambda frame, *more: encode({key: frame[key] for key in frame if key != 'touched'}, *more)
results = {}`;
  await using lab = await laboratory.start({ config: ALL_CODE, code });
  const { resume_payload: payload, user_message: message } = await shown(lab);
  expect(payload.effects).toMatchObject({ status: 'succeeded', files: [{ path: 'evil.txt', sizeBytes: 1 }] });
  expect(message).toContain('in the sandbox:**\n- it wrote evil.txt (1 bytes)\n');
  expect(payload.effects?.isComplete).toBe(false);
});

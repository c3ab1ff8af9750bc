/** Failures around the code: engines that fail, callers that abort, folders that are reused. */
import { readdirSync, readFileSync, chmodSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { createHost, type Session } from '../../../src/index.ts';
import { EPICS, Laboratory, question, REQUEST, thread, WRITES } from './laboratory.ts';

const laboratory = new Laboratory();

const APPROVE = new Command({ resume: { approved: true } });
const writing = (answer: number): string => `${EPICS}_w('magnet', ${answer})\nresults = {'answer': ${answer}}`;

async function running(host = laboratory.host): Promise<void> {
  while ((await host.listSessions()).every(({ status }) => status !== 'running')) await sleep(10);
}

async function idle(host = laboratory.host): Promise<void> {
  while ((await host.listSessions()).length > 0) await sleep(10);
}

test('U-56 an engine that has no room runs the same code again, and no other is written', async () => {
  await using host = await createHost({ poolSize: 0, maxSessions: 1 });
  await using lab = await laboratory.start({ options: { host } });
  const held: Session[] = [];
  // Called after the analysis: from here on the host has no free session.
  lab.service.analyzer.policies.register({
    name: 'occupant',
    decide: async () => void held.push(await waitForRoom(() => host.createSession())),
  });
  let executions = 0;
  let retries: unknown;
  for await (const event of lab.service.stream(REQUEST, thread('t'))) {
    if (event.type === 'status' && event.stage === 'execution') executions += 1;
    if (executions === 2) await held.pop()?.close();
    if (event.type === 'settled' && event.status === 'completed') ({ retries } = event.result);
  }
  expect(lab.generations).toHaveLength(1);
  expect(retries).toEqual({ generation: 0, execution: executions - 1 });
  expect(executions).toBeGreaterThan(1);
});

async function waitForRoom<T>(open: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await open();
    } catch {
      await sleep(5); // the session of the analysis is being closed
    }
  }
}

test('code that could not be analyzed is analyzed again, and never run on the verdict of other code', async () => {
  await using host = await createHost({ poolSize: 0, maxSessions: 1 });
  const config = { approval: { capabilities: { python_execution: { mode: 'all_code', preview: false } } } };
  await using lab = await laboratory.start({ config, options: { host } });
  await lab.service.run(REQUEST, thread('t'));
  await using occupant = await waitForRoom(() => host.createSession());
  const blocked = new Command({ resume: { type: 'edit', code: writing(666) } });
  await expect(lab.service.run(blocked, thread('t'))).rejects.toMatchObject({
    name: 'MaxAttemptsExceededError',
    operationType: 'execution',
  });
  expect(occupant.isClosed).toBe(false);
  const status = await lab.service.status(thread('t'));
  expect(status?.settled).toThrow('raise `maxSessions`');
});

test('code that may write is not run again when the engine fails in the middle of it', async () => {
  await using host = await createHost({ poolSize: 0 });
  const directory = laboratory.fresh();
  chmodSync(directory, 0o777);
  const config = {
    ...WRITES,
    framework: { execution: { local: { mounts: [{ source: directory, target: '/data', writable: true }] } } },
    approval: { capabilities: { python_execution: { preview: false } } },
  };
  const code = `${writing(1)}\nprint('ran', file=open('/data/journal', 'a'), flush=True)\nimport time\ntime.sleep(60)`;
  await using lab = await laboratory.start({ config, code, options: { host } });
  const { id } = question(await lab.service.run(REQUEST, thread('t')));
  const run = lab.service.run(APPROVE, thread('t'));
  run.catch(() => undefined);
  while (!readdirSync(directory).includes('journal')) await sleep(10);
  await host.close();
  await expect(run).rejects.toMatchObject({ name: 'WorkflowError', stage: 'execution' });
  await expect(run).rejects.toThrow('not known');
  expect(readFileSync(path.join(directory, 'journal'), 'utf8')).toBe('ran\n');
  expect((await lab.service.approvals.get(id)).run).toMatchObject({ status: 'finished' });
});

test('leaving the stream stops the code', async () => {
  await using lab = await laboratory.start({ code: 'import time\nprint("on")\ntime.sleep(60)' });
  for await (const event of lab.service.stream(REQUEST, thread('t'))) {
    if (event.type === 'output') break;
  }
  await idle();
  expect(lab.generations).toHaveLength(1);
});

test('an abort stops the code, and is not taken for a fault of it', async () => {
  await using lab = await laboratory.start({ code: 'import time\ntime.sleep(60)' });
  const caller = new AbortController();
  const run = lab.service.run(REQUEST, { ...thread('t'), signal: caller.signal });
  run.catch(() => undefined);
  await running();
  caller.abort();
  await expect(run).rejects.toMatchObject({ name: 'AbortError' });
  await idle();
  expect(lab.generations).toHaveLength(1);
  expect((await lab.service.status(thread('t')))?.settled).toBeUndefined();
});

test('an abort while code is being written reaches the generator', async () => {
  const caller = new AbortController();
  let reason: unknown;
  await using lab = await laboratory.start({
    code: (_, __, options) =>
      new Promise((_resolve, reject) => {
        options?.signal?.addEventListener('abort', () => {
          reason = options.signal?.reason;
          reject(new Error('stopped'));
        });
        caller.abort();
      }),
  });
  await expect(lab.service.run(REQUEST, { ...thread('t'), signal: caller.signal })).rejects.toMatchObject({
    name: 'AbortError',
  });
  expect(reason).toMatchObject({ name: 'AbortError' });
});

test('O-18 a request that goes on in the folder of another counts its attempts on', async () => {
  await using lab = await laboratory.start({
    code: ['1/0', 'results = {"answer": 1}', '1/0', 'results = {"answer": 2}'],
  });
  const first = await lab.service.invoke(REQUEST, thread('t'));
  const folder = first.executionResult.folderPath;
  const second = await lab.service.invoke({ ...REQUEST, existing_execution_folder: folder }, thread('t'));
  expect([second.executionResult.folderPath, second.generationAttempt]).toEqual([folder, 2]);
  const attempts = readdirSync(path.join(folder, 'attempts')).map((name) => name.replace(/_\d{6}\.ipynb$/, ''));
  expect(attempts).toEqual(['01_execution_failed', '02_succeeded', '03_execution_failed', '04_succeeded']);
});

test('a preview of an earlier request in the same folder is nothing to commit', async () => {
  const config = { approval: { capabilities: { python_execution: { mode: 'all_code' } } } };
  const code = 'import time\nresults = {"answer": time.time_ns()}';
  await using lab = await laboratory.start({ config, code });
  await lab.service.run(REQUEST, thread('t'));
  const first = await lab.service.invoke(APPROVE, thread('t'));
  const existing = { ...REQUEST, existing_execution_folder: first.executionResult.folderPath };
  await lab.service.run(existing, thread('t'));
  const second = await lab.service.invoke(APPROVE, thread('t'));
  expect(second.executionResult.results).not.toEqual(first.executionResult.results);
});

test('an answer that the caller gave is never replaced by other code', async () => {
  await using lab = await laboratory.start({});
  const request = { ...REQUEST, approved_code: 'results = {"answer": "seven"}' };
  await expect(lab.service.invoke(request, thread('t'))).rejects.toMatchObject({ name: 'ResultsInvalidError' });
  expect(lab.generations).toHaveLength(0);
  const fine = await lab.service.invoke({ ...REQUEST, approved_code: 'results = {"answer": 7}' }, thread('t'));
  expect(fine.executionResult.results).toEqual({ answer: 7 });
});

test('two requests on one thread at once never get each other\u2019s results', async () => {
  const code = ({ userQuery }: { readonly userQuery: string }): Promise<string> =>
    Promise.resolve(`import time\ntime.sleep(${userQuery} / 20)\nresults = {"answer": ${userQuery}}`);
  await using lab = await laboratory.start({ code });
  const queries = ['1', '5', '3', '8'];
  const runs = await Promise.allSettled(
    queries.map((user_query) => lab.service.invoke({ ...REQUEST, user_query }, thread('t'))),
  );
  for (const [index, run] of runs.entries()) {
    const got =
      run.status === 'fulfilled' ? JSON.stringify(run.value.executionResult.results['answer']) : String(run.reason);
    expect([queries[index], expect.stringContaining('another request') as unknown]).toContainEqual(got);
  }
});

test('a reviewer is not sent the data of other steps when it is large', async () => {
  const config = { approval: { capabilities: { python_execution: { mode: 'all_code' } } } };
  await using lab = await laboratory.start({ config, code: 'results = {"answer": len(context.DATA.all.values)}' });
  const values = Array.from({ length: 600_000 }, (_, index) => index);
  const request = { ...REQUEST, capability_context_data: { DATA: { all: { values } } } };
  const { payload } = question(await lab.service.run(request, thread('t')));
  expect(JSON.stringify(payload).length).toBeLessThan(100_000);
  expect(JSON.stringify(payload)).toContain('context.json');
  expect((await lab.service.invoke(APPROVE, thread('t'))).executionResult.results).toEqual({ answer: 600_000 });
});

test('an abort during the preview asks nobody', async () => {
  const config = { approval: { capabilities: { python_execution: { mode: 'all_code' } } } };
  await using lab = await laboratory.start({ config, code: 'import time\ntime.sleep(60)' });
  const caller = new AbortController();
  const run = lab.service.run(REQUEST, { ...thread('t'), signal: caller.signal });
  run.catch(() => undefined);
  while ((await laboratory.host.listSessions()).every(({ status }) => status !== 'running')) await sleep(10);
  await sleep(300); // the analysis runs first, and is short
  caller.abort();
  await expect(run).rejects.toMatchObject({ name: 'AbortError' });
  await idle();
  expect(await lab.service.approvals.list()).toEqual([]);
});

test('O-58 a mock from the configuration goes through its codes', async () => {
  const mock = { code_sequence: ['1/0', 'results = {"answer": 1}', 'results = {"answer": 2}'] };
  const config = { framework: { execution: { code_generator: 'mock', generators: { mock } } } };
  await using lab = await laboratory.start({ config });
  const first = await lab.service.invoke(REQUEST, thread('t'));
  const second = await lab.service.invoke(REQUEST, thread('t'));
  expect([first, second].map(({ executionResult }) => executionResult.results)).toEqual([{ answer: 1 }, { answer: 2 }]);
  lab.service.generators.registerGenerator('mock', () => ({ generateCode: async () => 'results = {"answer": 3}' }));
  expect((await lab.service.invoke(REQUEST, thread('t'))).executionResult.results).toEqual({ answer: 3 });
});

/** The service inside a user's graph: approvals are interrupts of that graph, and nothing runs twice. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Annotation,
  Command,
  END,
  INTERRUPT,
  isInterrupted,
  MemorySaver,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { handleServiceWithInterrupts } from '../../../src/service/caller-graph.ts';
import type { PythonServiceResult } from '../../../src/service/api/result.ts';
import { EPICS, Laboratory, REQUEST, thread, WRITES } from './laboratory.ts';

const laboratory = new Laboratory();

const State = Annotation.Root({ answers: Annotation<readonly unknown[]>() });
const CONFIG = { configurable: { thread_id: 'conversation' } };
const APPROVE = resume({ approved: true });

/** The type of a graph includes the names of its nodes, which do not matter here. */
function resume(answer: unknown) {
  return new Command<unknown, Record<string, unknown>, never>({ resume: answer });
}

/** A user's graph of one node. */
function graphOf(work: () => Promise<readonly PythonServiceResult[]>) {
  return new StateGraph(State)
    .addNode('analysis', async () => ({ answers: (await work()).map((one) => one.executionResult.results['answer']) }))
    .addEdge(START, 'analysis')
    .addEdge('analysis', END)
    .compile({ checkpointer: new MemorySaver() });
}

/** The id of the approval that a graph waits for, if it waits. */
function asked(state: unknown): string | undefined {
  if (!isInterrupted<{ approval_id: string }>(state)) return undefined;
  return state[INTERRUPT][0]?.value?.approval_id;
}

const writing = (answer: number): string => `${EPICS}_w('magnet', ${answer})\nresults = {'answer': ${answer}}`;

test('O-36 a question becomes an interrupt of the graph around the service, and its answer the result', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(1) });
  const call = { service: lab.service, request: REQUEST, config: thread('t') };
  const graph = graphOf(async () => [await handleServiceWithInterrupts(call)]);
  const waiting = await graph.invoke({ answers: [] }, CONFIG);
  expect(asked(waiting)).toMatch(/^[0-9a-f-]{36}$/);
  expect(isInterrupted(waiting) && waiting[INTERRUPT]).toMatchObject([
    {
      value: {
        user_message: expect.stringContaining('HUMAN APPROVAL REQUIRED') as unknown,
        resume_payload: { code: writing(1) },
      },
    },
  ]);
  expect(await graph.invoke(APPROVE, CONFIG)).toEqual({ answers: [1] });
  expect(lab.generations).toHaveLength(1);
});

test('O-36 whatever else goes wrong in the service is an error of the node, as it is', async () => {
  await using lab = await laboratory.start({ code: '1/0' });
  const call = { service: lab.service, request: { ...REQUEST, retries: 0 } };
  const failing = graphOf(async () => [await handleServiceWithInterrupts({ ...call, config: thread('t') })]);
  await expect(failing.invoke({ answers: [] }, CONFIG)).rejects.toMatchObject({ name: 'CodeRuntimeError' });
  const nameless = graphOf(async () => [await handleServiceWithInterrupts({ ...call, config: {} })]);
  await expect(nameless.invoke({ answers: [] }, CONFIG)).rejects.toMatchObject({ name: 'ServiceConfigurationError' });
});

test('O-08 two stages in one node are asked about one by one, and each runs once', async () => {
  let number = 0;
  await using lab = await laboratory.start({ config: WRITES, code: async () => writing((number += 1)) });
  const call = { service: lab.service, request: REQUEST };
  const graph = graphOf(async () => [
    await handleServiceWithInterrupts({ ...call, config: thread('stage1') }),
    await handleServiceWithInterrupts({ ...call, config: thread('stage2') }),
  ]);
  const first = asked(await graph.invoke({ answers: [] }, CONFIG));
  const second = asked(await graph.invoke(APPROVE, CONFIG));
  expect([first, second, first === second]).toEqual([expect.any(String), expect.any(String), false]);
  expect(await graph.invoke(APPROVE, CONFIG)).toEqual({ answers: [1, 2] });
  expect(lab.generations).toHaveLength(2);
});

test('two questions in one node: an answer in words brings new code, which is asked about again', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: [writing(1), writing(2)] });
  const graph = graphOf(async () => [
    await handleServiceWithInterrupts({ service: lab.service, request: REQUEST, config: thread('t') }),
  ]);
  const first = asked(await graph.invoke({ answers: [] }, CONFIG));
  const respond = resume({ type: 'respond', text: 'Write two.' });
  const second = asked(await graph.invoke(respond, CONFIG));
  expect(first === second).toBe(false);
  expect(lab.generations[1]).toMatchObject([{ errorType: 'ReviewerResponse', errorMessage: 'Write two.' }]);
  expect(await graph.invoke(APPROVE, CONFIG)).toEqual({ answers: [2] });
});

test('a node that runs again after its request has ended is given the result that is there', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(1) });
  let runs = 0;
  const graph = graphOf(async () => {
    const result = await handleServiceWithInterrupts({ service: lab.service, request: REQUEST, config: thread('t') });
    runs += 1;
    if (runs === 1) throw new Error('the process dies here');
    return [result];
  });
  await graph.invoke({ answers: [] }, CONFIG);
  await expect(graph.invoke(APPROVE, CONFIG)).rejects.toThrow('dies here');
  expect(await graph.invoke(null, CONFIG)).toEqual({ answers: [1] });
  expect(lab.generations).toHaveLength(1);
});

test('the next turn of a conversation is a new request, though it is worded the same', async () => {
  await using lab = await laboratory.start({ code: ['results = {"answer": 1}', 'results = {"answer": 2}'] });
  const graph = graphOf(async () => [
    await handleServiceWithInterrupts({ service: lab.service, request: REQUEST, config: thread('t') }),
  ]);
  expect(await graph.invoke({ answers: [] }, CONFIG)).toEqual({ answers: [1] });
  expect(await graph.invoke({ answers: [] }, CONFIG)).toEqual({ answers: [2] });
});

test('an answer to code that was lost approves nothing else', async () => {
  const slow = `${writing(1)}\nimport time\ntime.sleep(30)`;
  const config = { ...WRITES, approval: { capabilities: { python_execution: { preview: false } } } };
  await using lab = await laboratory.start({ config, code: [slow, writing(666)] });
  const death = new AbortController();
  let signal: AbortSignal | undefined = death.signal;
  const graph = graphOf(async () => [
    await handleServiceWithInterrupts({
      service: lab.service,
      request: REQUEST,
      config: { ...thread('t'), ...(signal && { signal }) },
    }),
  ]);
  const first = asked(await graph.invoke({ answers: [] }, CONFIG));
  const resumed = graph.invoke(APPROVE, CONFIG);
  resumed.catch(() => undefined);
  while ((await laboratory.host.listSessions()).every(({ status }) => status !== 'running')) await sleep(20);
  death.abort(new Error('the process dies here'));
  await expect(resumed).rejects.toThrow('the process dies here');
  signal = undefined;
  const second = asked(await graph.invoke(null, CONFIG));
  expect([typeof second, second === first]).toEqual(['string', false]);
  expect(await graph.invoke(APPROVE, CONFIG)).toEqual({ answers: [666] });
});

test('a request that somebody decided elsewhere gives its result when the graph goes on', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(7) });
  const graph = graphOf(async () => [
    await handleServiceWithInterrupts({ service: lab.service, request: REQUEST, config: thread('t') }),
  ]);
  const id = asked(await graph.invoke({ answers: [] }, CONFIG)) ?? '';
  await lab.service.decide(id, 'yes', { by: 'operator' });
  expect(await graph.invoke(resume('whatever'), CONFIG)).toEqual({ answers: [7] });
  expect(lab.generations).toHaveLength(1);
});

test('O-39 outside of any graph the question is an error that carries it, and nothing is lost', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(3) });
  await expect(lab.service.ainvoke(REQUEST, thread('t'))).rejects.toMatchObject({
    name: 'GraphInterrupt',
    interrupts: [{ value: { approval_id: expect.any(String) as unknown, resume_payload: { code: writing(3) } } }],
  });
  const { executionResult } = await lab.service.ainvoke(APPROVE, thread('t'));
  expect(executionResult.results).toEqual({ answer: 3 });
});

test('approved code that fails is written again and asked about again, and a second yes is for the second code', async () => {
  const config = { ...WRITES, approval: { capabilities: { python_execution: { preview: false } } } };
  await using lab = await laboratory.start({ config, code: [`${writing(1)}\n1/0`, `${writing(2)}\n1/0`, writing(3)] });
  const graph = graphOf(async () => [
    await handleServiceWithInterrupts({ service: lab.service, request: REQUEST, config: thread('t') }),
  ]);
  await graph.invoke({ answers: [] }, CONFIG);
  const edited = resume({ type: 'edit', code: `${writing(5)}\n1/0` });
  expect(asked(await graph.invoke(edited, CONFIG))).toBeDefined();
  expect(asked(await graph.invoke(APPROVE, CONFIG))).toBeDefined();
  expect(await graph.invoke(APPROVE, CONFIG)).toEqual({ answers: [3] });
  expect((await lab.service.approvals.list()).map(({ status }) => status)).toEqual(['edited', 'approved', 'approved']);
});

test('a rejection, and a question that nobody answered in time, are errors of the node', async () => {
  const config = { ...WRITES, approval: { capabilities: { python_execution: { expires_after_seconds: 1 } } } };
  await using lab = await laboratory.start({ config, code: writing(1) });
  const graph = graphOf(async () => [
    await handleServiceWithInterrupts({ service: lab.service, request: REQUEST, config: thread('t') }),
  ]);
  await graph.invoke({ answers: [] }, CONFIG);
  await expect(graph.invoke(resume('no'), CONFIG)).rejects.toMatchObject({ name: 'ExecutionRejectedError' });
  await graph.invoke({ answers: [] }, CONFIG);
  await sleep(1100);
  await expect(graph.invoke(APPROVE, CONFIG)).rejects.toThrow('expired before anybody decided');
  expect(asked(await graph.invoke({ answers: [] }, CONFIG))).toBeDefined();
});

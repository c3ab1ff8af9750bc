/** Calls that cannot work: each error says what is wrong and what to do. */
import { Command, END, GraphInterrupt, START, StateGraph } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import {
  AgentState,
  ApprovalRequiredError,
  getFullConfiguration,
  getRegistry,
  handle_service_with_interrupts,
  PythonExecutionRequest,
  get_registry,
} from '../../../src/service.ts';
import { EPICS, Laboratory, question, REQUEST, thread, WRITES, type Setting } from './laboratory.ts';

const laboratory = new Laboratory();

/** The error of a call. */
async function told(call: (lab: Awaited<ReturnType<typeof laboratory.start>>) => unknown, setting: Setting = {}) {
  await using lab = await laboratory.start(setting);
  try {
    await call(lab);
  } catch (error) {
    return error as Error & { readonly category?: string; readonly code?: string };
  }
  throw new Error('nothing was wrong with it');
}

const COMMAND = new Command({ resume: { approved: true } });

test('O-41 without a thread nothing is begun', async () => {
  const error = await told(({ service }) => service.invoke(REQUEST, { configurable: { checkpoint_ns: 'x' } }));
  expect([error.name, error.category]).toEqual(['ServiceConfigurationError', 'configuration']);
  expect(error.message).toContain('configurable.thread_id must be text. Call the service with');
  const other = await told(({ service }) => service.invoke(REQUEST, { configurable: { thread_id: 'x' } }));
  expect(other.message).toContain('configurable.checkpoint_ns');
});

test.for([['a word'], [7], [null], [undefined]])('O-03 %j is no request', async ([input]) => {
  const error = await told(({ service }) => service.ainvoke(input as never, thread('t')));
  expect([error.name, error.message.startsWith('The service takes a PythonExecutionRequest or a Command')]).toEqual([
    'TypeError',
    true,
  ]);
});

test('O-03 ainvoke takes a request, and a Command that goes on with it; both return the result', async () => {
  await using lab = await laboratory.start({
    code: ['results = {"answer": 42}', `${EPICS}_w('magnet', 1)\nresults = {'answer': 7}`],
    config: WRITES,
  });
  const done = await lab.service.ainvoke(PythonExecutionRequest(REQUEST), thread('plain'));
  expect(done.execution_result.results).toEqual({ answer: 42 });
  const waiting = await lab.service.ainvoke(REQUEST, thread('asked')).catch((error: unknown) => error);
  expect(waiting).toBeInstanceOf(GraphInterrupt);
  const [pending] = await lab.service.approvals.list({ status: 'pending' });
  const continued = await lab.service.ainvoke(COMMAND, thread('asked'));
  expect(continued.execution_result.results).toEqual({ answer: 7 });
  expect((await lab.service.approvals.get(pending?.id ?? '')).run).toMatchObject({ status: 'finished' });
});

test('O-39 outside of a graph the handler says where the question waits, and how to answer it', async () => {
  await using lab = await laboratory.start({
    code: `${EPICS}_w('magnet', 1)\nresults = {'answer': 7}`,
    config: WRITES,
  });
  const call = { service: lab.service, request: REQUEST, config: thread('t') };
  const error = await handle_service_with_interrupts(call).catch((thrown: unknown) => thrown as ApprovalRequiredError);
  if (!(error instanceof ApprovalRequiredError)) throw new Error('nobody was asked');
  expect([error.category, error.payload]).toEqual([
    'workflow',
    expect.objectContaining({ user_message: expect.any(String) as string }),
  ]);
  expect(error.message).toContain(
    `The request waits as approval ${error.approvalId}. Decide it with service.decide("${error.approvalId}"`,
  );
  const again = await handle_service_with_interrupts(call).catch((thrown: unknown) => thrown);
  expect(again).toMatchObject({ approvalId: error.approvalId });
  const decided = await lab.service.decide(error.approvalId, { type: 'approve' }, { by: 'Ann' });
  expect(decided).toMatchObject({ status: 'completed', result: { executionResult: { results: { answer: 7 } } } });
});

test('O-39 a graph that keeps no checkpoints cannot wait either, and is told the same', async () => {
  await using lab = await laboratory.start({
    code: `${EPICS}_w('magnet', 1)\nresults = {'answer': 7}`,
    config: WRITES,
  });
  const graph = new StateGraph(AgentState)
    .addNode('work', async () => {
      await handle_service_with_interrupts({ service: lab.service, request: REQUEST, config: thread('t') });
      return {};
    })
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile();
  await expect(graph.invoke({})).rejects.toThrow('or in a graph without a checkpointer. The request waits as approval');
});

test('O-10 O-11 O-14 what a request lacks, and what it has too much, is named', async () => {
  const error = await told(({ service }) => service.invoke({ user_query: 'q', expected_result: {} }, thread('t')));
  expect(error.code).toBe('CONFIG_INVALID');
  for (const name of ['taskObjective', 'executionFolderName', 'expectedResult']) expect(error.message).toContain(name);
  expect(() => PythonExecutionRequest({ ...REQUEST, retries: 'three' })).toThrow('retries');
});

test.for([
  ['user_query', 'userQuery'],
  ['task_objective', 'taskObjective'],
  ['execution_folder_name', 'executionFolderName'],
] as const)('O-10 O-11 O-14 there is no request without %s', ([name, key]) => {
  const { [name]: _missing, ...others } = REQUEST;
  expect(() => PythonExecutionRequest(others)).toThrow(key);
});

test('O-12 O-13 O-15 O-16 what else a request leaves out has the documented default', () => {
  const { user_query, task_objective, execution_folder_name } = REQUEST;
  expect(PythonExecutionRequest({ user_query, task_objective, execution_folder_name })).toMatchObject({
    userQuery: user_query,
    capabilityPrompts: [],
    expectedResults: {},
    capabilityContextData: null,
    retries: 3,
  });
});

test('O-40 a Command that resumes nothing', async () => {
  const error = await told(({ service }) => service.invoke(new Command({ goto: 'x' }), thread('t')));
  expect(error.message).toContain('new Command({ resume: { approved: true } })');
});

test('O-40 a Command for a thread that has no request, and for one that does not wait', async () => {
  const none = await told(({ service }) => service.invoke(COMMAND, thread('t')));
  expect(none.message).toContain('This thread has no request. Check thread_id, checkpoint_ns and user_id');
  const ended = await told(async ({ service }) => {
    await service.invoke(REQUEST, thread('t'));
    await service.invoke(COMMAND, thread('t'));
  });
  expect(ended.message).toContain('has ended, so there is nothing to resume. Send a new request');
});

test('O-40 a request that comes again where an answer is due', async () => {
  await using lab = await laboratory.start({
    config: WRITES,
    code: `${EPICS}_w('magnet', 1)\nresults = {'answer': 7}`,
  });
  const { id } = question(await lab.service.run(REQUEST, thread('t')));
  await expect(lab.service.invoke(REQUEST, thread('t'))).rejects.toThrow(
    `This thread waits for approval ${id}. Answer it with new Command({ resume: … })`,
  );
  expect((await lab.service.invoke(COMMAND, thread('t'))).executionResult.results).toEqual({ answer: 7 });
});

test('a second answer is told that there was a first', async () => {
  const code = `${EPICS}_w('magnet', 1)\nresults = {'answer': 1}`;
  const again = await told(
    async ({ service }) => {
      const { id } = question(await service.run(REQUEST, thread('t')));
      await service.decide(id, 'yes', { by: 'Ann' });
      await service.decide(id, 'yes', { by: 'Bob' });
    },
    { config: WRITES, code },
  );
  expect([again.code, again.message]).toEqual(['APPROVAL_DECIDED', expect.stringContaining('was approved by "Ann"')]);
});

test('O-02 O-38 a service that nobody registered', async () => {
  expect(() => getRegistry().getService('python_executor')).toThrow(
    'Python executor service not available: nothing is registered as "python_executor" (no service is registered). Start one with startPythonExecutor() and call getRegistry().registerService("python_executor", service).',
  );
  await using lab = await laboratory.start();
  getRegistry().registerService('other', lab.service);
  try {
    expect(() => get_registry().get_service('python_executor')).toThrow('registered: other');
    expect(getRegistry().getService('other')).toBe(lab.service);
  } finally {
    getRegistry().unregisterService('other');
  }
});

test('O-04 the full configuration goes with a call, without keys and passwords', async () => {
  const secret = 'do-not-tell';
  await using lab = await laboratory.start({
    config: {
      models: { python_code_generator: { api_key: secret, model_id: 'm' } },
      framework: {
        execution: {
          container: { jupyter_token: secret },
          modes: { read_only: { environment: { KEY: secret } } },
          generators: { mock: { key: secret } },
        },
      },
    },
  });
  getRegistry().registerService('python_executor', lab.service);
  try {
    const configuration = getFullConfiguration();
    expect(JSON.stringify(configuration)).not.toContain(secret);
    expect(configuration).toMatchObject({ framework: { python_executor: { execution_timeout_seconds: 600 } } });
    const config = { configurable: { ...configuration, ...thread('t').configurable } };
    expect((await lab.service.ainvoke(REQUEST, config)).executionResult.results).toEqual({ answer: 42 });
  } finally {
    getRegistry().unregisterService('python_executor');
  }
});

const MODEL = { framework: { execution: { code_generator: 'basic' } } };

test('a model that cannot be reached', async () => {
  const environment = { VIVARIUM_LLM_BASE_URL: 'http://127.0.0.1:9/v1', VIVARIUM_LLM_MODEL: 'm' };
  const config = { ...MODEL, framework: { ...MODEL.framework, python_executor: { max_generation_retries: 0 } } };
  const error = await told(({ service }) => service.invoke(REQUEST, thread('t')), { config, options: { environment } });
  expect([error.name, error.category]).toEqual(['ModelUnavailableError', 'infrastructure']);
  expect(error.message).toContain('Check that its server runs');
});

test('a model that nobody named is a matter of configuration, and is not asked for twice', async () => {
  const error = await told(({ service }) => service.invoke(REQUEST, thread('t')), {
    config: MODEL,
    options: { environment: {} },
  });
  expect([error.name, error.category]).toEqual(['ServiceConfigurationError', 'configuration']);
  expect(error.message).toContain('VIVARIUM_LLM_BASE_URL');
});

test('a generator that does not exist', async () => {
  const config = { framework: { execution: { code_generator: 'claude' } } };
  const error = await told(({ service }) => service.invoke(REQUEST, thread('t')), { config });
  expect(error.message).toContain(
    'There is no code generator "claude": execution.code_generator can be llm, basic, mock',
  );
});

test('a key of the configuration that does not exist', async () => {
  const wrong = told(() => undefined, { config: { framework: { python_executor: { max_retries: 3 } } } });
  await expect(wrong).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(wrong).rejects.toThrow('framework.python_executor.max_retries: unknown key');
});

test('an execution method that does not exist, for one request', async () => {
  const config = { configurable: { ...thread('t').configurable, execution_method: 'docker' } };
  const error = await told(({ service }) => service.invoke(REQUEST, config));
  expect(error.message).toContain('configurable.execution_method is "docker". Use "local" or "container"');
});

test('a folder that is not one of the service\u2019s', async () => {
  const error = await told(({ service }) =>
    service.invoke({ ...REQUEST, existing_execution_folder: '/etc' }, thread('t')),
  );
  expect(error.message).toContain('is not the folder of an earlier request');
});

test.for(['import nowhere.at_all', 'raise ImportError("Missing optional dependency \'nowhere\'. Use pip.")'])(
  'O-107 a module that is missing is named, with the way to install it: %s',
  async (code) => {
    await using lab = await laboratory.start({ code });
    const { python } = laboratory.host.environment;
    await expect(lab.service.invoke({ ...REQUEST, retries: 0 }, thread('t'))).rejects.toThrow(
      new RegExp(`^Missing Module: 'nowhere' is not installed.*${python} -m pip install nowhere$`),
    );
  },
);

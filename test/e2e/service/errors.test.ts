/** Calls that cannot work: each error says what is wrong and what to do. */
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { getFullConfiguration, getRegistry, PythonExecutionRequest, get_registry } from '../../../src/service.ts';
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

test('O-10 O-11 O-14 what a request lacks, and what it has too much, is named', async () => {
  const error = await told(({ service }) => service.invoke({ user_query: 'q', expected_result: {} }, thread('t')));
  expect(error.code).toBe('CONFIG_INVALID');
  for (const name of ['taskObjective', 'executionFolderName', 'expectedResult']) expect(error.message).toContain(name);
  expect(() => PythonExecutionRequest({ ...REQUEST, retries: 'three' })).toThrow('retries');
  expect(PythonExecutionRequest(REQUEST)).toMatchObject({
    userQuery: REQUEST.user_query,
    retries: 3,
    capabilityPrompts: [],
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

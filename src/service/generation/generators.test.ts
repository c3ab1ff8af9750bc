import { AIMessageChunk } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { FakeListChatModel, FakeStreamingChatModel } from '@langchain/core/utils/testing';
import { expect, test } from 'vitest';
import { CodeGenerationError, ModelUnavailableError, ServiceConfigurationError } from '../api/failures.ts';
import { parseRequest } from '../api/request.ts';
import type { ExecutionFailure } from './generator.ts';
import { LlmGenerator } from './llm.ts';
import { MockGenerator } from './mock.ts';
import { GeneratorRegistry } from './registry.ts';

const request = parseRequest({ user_query: 'q', task_objective: 't', execution_folder_name: 'f' });
const failure: ExecutionFailure = {
  errorType: 'NameError',
  errorMessage: 'x is not defined',
  failedCode: 'x',
  traceback: null,
  attemptNumber: 2,
  stage: 'execution',
  analysisIssues: [],
};

const answering = (...responses: string[]): LlmGenerator => new LlmGenerator(new FakeListChatModel({ responses }));

test('O-62 the code is taken out of what a model wrote around it', async () => {
  const code = 'import math\nresults = {"pi": math.pi}';
  for (const answer of [
    `\`\`\`python\n${code}\n\`\`\``,
    `\`\`\`\n${code}\n\`\`\``,
    `Here it is:\n\n\`\`\`python\n${code}\n\`\`\`\nIt gives pi.`,
    `<think>\n\`\`\`python\nwrong\n\`\`\`\n</think>\n${code}`,
  ]) {
    expect((await answering(answer).generateCode(request, [])).trim()).toBe(code);
  }
});

test('bare code is not touched', async () => {
  const code = '\n# about ``` and text\nresults = {"text": """```python\n  kept  \n```"""}\n\n';
  expect(await answering(code).generateCode(request, [])).toBe(code);
});

test('O-62 an empty answer is a generation error that counts the attempt', async () => {
  for (const answer of ['', ' \n', '```python\n\n```', '<think>hm</think>']) {
    const error: unknown = await answering(answer)
      .generateCode(request, [failure])
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CodeGenerationError);
    expect(error).toMatchObject({
      generationAttempt: 3,
      errorChain: ['Attempt 2, execution: NameError: x is not defined'],
    });
  }
});

test('tokens are told while the model writes', async () => {
  const tokens: string[] = [];
  await answering('results = {}').generateCode(request, [], { onToken: (token) => tokens.push(token) });
  expect(tokens.length).toBeGreaterThan(3);
  expect(tokens.join('')).toBe('results = {}');
});

test('an abort stops the model and is not told as its failure', async () => {
  const model = new FakeListChatModel({ responses: ['x'.repeat(1000)], sleep: 5 });
  const controller = new AbortController();
  let heard = 0;
  const generating = new LlmGenerator(model).generateCode(request, [], {
    signal: controller.signal,
    onToken: () => {
      heard += 1;
      if (heard === 3) controller.abort(new Error('enough'));
    },
  });
  await expect(generating).rejects.toThrow('enough');
  expect(heard).toBeLessThan(100);
});

test('an answer without end is cut off', async () => {
  const model = new FakeStreamingChatModel({ chunks: [new AIMessageChunk('x'.repeat(500_000))] });
  await expect(new LlmGenerator(model).generateCode(request, [])).rejects.toThrow(/reached its length limit/);
});

test('a model that fails is an infrastructure error with its cause', async () => {
  const model = fakeModel().alwaysThrow(new Error('connect ECONNREFUSED'));
  const error: unknown = await new LlmGenerator(model).generateCode(request, []).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ModelUnavailableError);
  expect(error).toMatchObject({ category: 'infrastructure' });
  expect((error as Error).message).toContain('ECONNREFUSED');
});

test('the mock gives what it is told and keeps what it was asked', async () => {
  const mock = new MockGenerator();
  mock.setCode('one');
  expect(await mock.generateCode(request, [])).toBe('one');
  mock.setCodeSequence(['two', 'three']);
  const given = [];
  for (let call = 0; call < 3; call += 1) given.push(await mock.generateCode(request, [failure]));
  expect(given).toEqual(['two', 'three', 'three']);
  expect(mock.calls).toHaveLength(4);
  expect(mock.calls[1]).toEqual({ request, errorChain: [failure] });
});

test('U-55 a registry makes generators by name, its own ones too', async () => {
  const registry = new GeneratorRegistry({
    resolveModel: () => new FakeListChatModel({ responses: ['results = {"by": "model"}'] }),
  });
  const other = new GeneratorRegistry({ resolveModel: () => Promise.reject(new Error('no model')) });
  registry.registerGenerator('own', (settings) => ({
    generateCode: () => Promise.resolve(`# ${String(settings['style'])}`),
  }));
  const code = async (name: string, settings = {}): Promise<string> =>
    (await registry.makeGenerator(name, settings)).generateCode(request, []);
  expect(await code('llm')).toBe('results = {"by": "model"}');
  expect(await code('basic')).toBe('results = {"by": "model"}');
  expect(await code('mock', { code: 'x = 1' })).toBe('x = 1');
  expect(await code('own', { style: 'short' })).toBe('# short');
  expect(other.names).toEqual(['llm', 'basic', 'mock']);
  await expect(other.makeGenerator('llm')).rejects.toThrow('no model');
});

test('an unknown generator is refused with those that there are', async () => {
  const registry = new GeneratorRegistry({ resolveModel: () => new FakeListChatModel({ responses: [''] }) });
  const error: unknown = await registry.makeGenerator('claude_code').catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ServiceConfigurationError);
  expect((error as Error).message).toMatch(/"claude_code".*llm, basic, mock/);
  await expect(registry.makeGenerator('mock', { behaviour: 'success' })).rejects.toThrow(/behaviour/);
});

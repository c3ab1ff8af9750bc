import { FakeListChatModel } from '@langchain/core/utils/testing';
import { describe, expect, test } from 'vitest';
import { parseRequest } from '../api/request.ts';
import { LlmGenerator } from './llm.ts';
import { GeneratorRegistry } from './registry.ts';

const request = parseRequest({ user_query: 'q', task_objective: 't', execution_folder_name: 'f' });
const noModel = { resolveModel: () => Promise.reject(new Error('no model')) };
const GENERATOR = { generateCode: () => Promise.resolve('') };

describe('A registry of generators', () => {
  test('makes one generator for all requests, also when they ask at once', async () => {
    let made = 0;
    const registry = new GeneratorRegistry(noModel);
    registry.registerGenerator('own', async () => {
      made += 1;
      return { ...GENERATOR };
    });
    const [one, two] = await Promise.all([registry.generator('own'), registry.generator('own')]);
    expect(one).toBe(two);
    expect(await registry.generator('own')).toBe(one);
    expect(made).toBe(1);
    expect(await registry.makeGenerator('own')).not.toBe(one);
  });

  test('tries again after a generator could not be made', async () => {
    let tries = 0;
    const registry = new GeneratorRegistry(noModel);
    registry.registerGenerator('flaky', () => {
      tries += 1;
      if (tries === 1) throw new Error('not yet');
      return GENERATOR;
    });
    await expect(registry.generator('flaky')).rejects.toThrow('not yet');
    expect(await registry.generator('flaky')).toBe(GENERATOR);
  });

  test('replaces a generator that is registered again, also one in use', async () => {
    const registry = new GeneratorRegistry(noModel);
    const other = { ...GENERATOR };
    registry.registerGenerator('mock', () => GENERATOR);
    expect(await registry.generator('mock')).toBe(GENERATOR);
    registry.registerGenerator('mock', () => other);
    expect(await registry.generator('mock')).toBe(other);
    expect(registry.names).toEqual(['llm', 'basic', 'mock']);
  });

  test.for(['', '  '])('takes no generator under the name %j', (name) => {
    expect(() => new GeneratorRegistry(noModel).registerGenerator(name, () => GENERATOR)).toThrow(
      'A code generator must have a name',
    );
  });

  test('passes settings on, and none as none', async () => {
    const seen: unknown[] = [];
    const registry = new GeneratorRegistry(noModel);
    registry.registerGenerator('own', (settings) => {
      seen.push(settings);
      return GENERATOR;
    });
    await registry.makeGenerator('own', { style: 1 });
    await registry.generator('own');
    expect(seen).toEqual([{ style: 1 }, {}]);
  });
});

describe('A generator with a model', () => {
  function answering(text: string, metadata: Record<string, unknown> = {}): LlmGenerator {
    return new LlmGenerator(new FakeListChatModel({ responses: [text], generationInfo: metadata }));
  }

  test.for([
    { finish_reason: 'length' },
    { finish_reason: 'MAX_TOKENS' },
    { stop_reason: 'max_tokens' },
    { finish_reason: 'max_output_tokens' },
  ])('takes no code that was cut off: %j', async (metadata) => {
    await expect(answering('results = {', metadata).generateCode(request, [])).rejects.toThrow(
      'No code was generated: the answer of the model reached its length limit and is incomplete. Write shorter code.',
    );
  });

  test.for([{ finish_reason: 'stop' }, { stop_reason: 'end_turn' }, {}])(
    'takes a whole answer: %j',
    async (metadata) => {
      expect(await answering('results = {}', metadata).generateCode(request, [])).toBe('results = {}');
    },
  );

  test('tells a model that wrote no code what to answer', async () => {
    await expect(answering('').generateCode(request, [])).rejects.toThrow(
      'No code was generated: the model answered with no code. Answer with the code alone.',
    );
  });

  test('only removes reasoning that comes first', async () => {
    const code = 'text = "<think>x</think>"\nresults = {"t": text}';
    expect(await answering(`<thinking>\nhm\n</thinking>\n\n${code}`).generateCode(request, [])).toBe(code);
    expect(await answering(code).generateCode(request, [])).toBe(code);
  });

  test('is not asked once the request is given up', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    const tokens: string[] = [];
    const asked = answering('x = 1').generateCode(request, [], { signal, onToken: (token) => tokens.push(token) });
    await expect(asked).rejects.toThrow('enough');
    expect(tokens).toEqual([]);
  });
});

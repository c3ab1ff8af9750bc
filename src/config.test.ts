import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { Config, findServer, Limits, parseConfig, parseModelConfig } from './config.ts';
import { defaultDataDir } from './data-dir.ts';

const PAGE = readFileSync(new URL('../docs/options.md', import.meta.url), 'utf8');

/** What `createHost` takes besides the configuration. */
const BESIDES = ['initCode', 'engine', 'log', 'logCode', 'signal'];

/** Names in the first column of the table below a heading. */
function documented(heading: string): string[] {
  const section = PAGE.split(/^## /mu).find((part) => part.startsWith(heading)) ?? '';
  return [...section.matchAll(/^\| `(\w+)`\s+\|/gmu)].map(([, name]) => name ?? '');
}

test('docs/options.md lists every option and every limit, in order, and no other', () => {
  assert.deepEqual(documented('Host'), [...Object.keys(Config.shape), ...BESIDES]);
  assert.deepEqual(documented('Limits'), Object.keys(Limits.shape));
});

test('docs/options.md gives the defaults of every limit', () => {
  for (const [name, value] of Object.entries(parseConfig({}, {}).limits)) {
    assert.match(PAGE, new RegExp(`\\| \`${name}\`\\s+\\| \`${value}\`\\s+\\|`, 'u'));
  }
});

test('an unknown option is an error that names it', () => {
  assert.throws(() => parseConfig({ timeoutMS: 5 } as object, {}), { code: 'CONFIG_INVALID', message: /timeoutMS/u });
});

test('a wrong value is an error that names the option', () => {
  assert.throws(() => parseConfig({ limits: { memoryMb: 'much' as never } }, {}), {
    code: 'CONFIG_INVALID',
    message: /limits\.memoryMb/u,
  });
});

test('the data directory follows VIVARIUM_HOME, then XDG, then HOME', () => {
  assert.equal(defaultDataDir({ VIVARIUM_HOME: '/v', XDG_DATA_HOME: '/x', HOME: '/h' }), '/v');
  assert.equal(defaultDataDir({ XDG_DATA_HOME: '/x', HOME: '/h' }), '/x/vivarium');
  assert.equal(defaultDataDir({ HOME: '/h' }), '/h/.local/share/vivarium');
});

test('the model is found in options, then in the variables of Vivarium, then in those of OpenAI', () => {
  const openai = { OPENAI_API_KEY: 'o-key', OPENAI_BASE_URL: 'http://o/v1' };
  const own = { VIVARIUM_LLM_BASE_URL: 'http://v/v1', VIVARIUM_LLM_API_KEY: 'v-key', VIVARIUM_LLM_MODEL: 'v' };
  assert.deepEqual(parseModelConfig({ model: 'm' }, { ...openai, ...own }), {
    model: 'm',
    baseUrl: 'http://v/v1',
    apiKey: 'v-key',
    maxRetries: 3,
  });
  assert.deepEqual(parseModelConfig({ model: 'm' }, openai), {
    model: 'm',
    baseUrl: 'http://o/v1',
    apiKey: 'o-key',
    maxRetries: 3,
  });
  const plain = parseModelConfig({}, { OPENAI_API_KEY: 'o-key' });
  assert.equal(plain.baseUrl, 'https://api.openai.com/v1');
  assert.equal(plain.model, 'gpt-4o-mini');
});

test('a key of OpenAI is not sent to another server', () => {
  const environment = { OPENAI_API_KEY: 'o-key', VIVARIUM_LLM_BASE_URL: 'http://v/v1', VIVARIUM_LLM_MODEL: 'v' };
  assert.equal(parseModelConfig({}, environment).apiKey, undefined);
  assert.equal(parseModelConfig({ baseUrl: 'http://w/v1' }, environment).apiKey, undefined);
  assert.equal(parseModelConfig({ baseUrl: 'https://api.openai.com.evil/v1' }, environment).apiKey, undefined);
  assert.equal(parseModelConfig({ baseUrl: 'https://api.openai.com/v1' }, environment).apiKey, 'o-key');
});

test('nothing, half a model and a wrong one are errors', () => {
  assert.throws(() => parseModelConfig({}, {}), { code: 'LLM_NOT_CONFIGURED', message: /VIVARIUM_LLM_BASE_URL/u });
  assert.throws(() => parseModelConfig({ baseUrl: 'http://v/v1' }, {}), { code: 'LLM_NOT_CONFIGURED' });
  assert.throws(() => parseModelConfig({ baseUrl: 'file:///etc', model: 'm' }, {}), { code: 'CONFIG_INVALID' });
});

test('a server is found in options, then in the environment', () => {
  const environment = { VIVARIUM_URL: 'http://a:1', VIVARIUM_KEY: 'k' };
  assert.deepEqual(findServer({}, environment), { url: 'http://a:1', key: 'k' });
  assert.deepEqual(findServer({ key: 'mine' }, environment), { url: 'http://a:1', key: 'mine' });
  assert.deepEqual(findServer({ url: 'http://b' }, { VIVARIUM_KEY: 'k' }), { url: 'http://b', key: 'k' });
  assert.equal(findServer({}, { VIVARIUM_URL: '', VIVARIUM_KEY: 'k' }), undefined);
});

test('the key of one server is not sent to another', () => {
  const environment = { VIVARIUM_URL: 'http://a:1/base', VIVARIUM_KEY: 'k' };
  assert.deepEqual(findServer({ url: 'http://a:1' }, environment), { url: 'http://a:1', key: 'k' });
  for (const url of ['http://a:2', 'https://a:1', 'http://b:1', 'nonsense']) {
    assert.deepEqual(findServer({ url }, environment), { url });
  }
});

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { fitForModel } from './caller.ts';

test('P-43 keys that an answer hides from the model are not shown to it', () => {
  const answer = { stdout: 'ok', base64_uri: ['data:image/png;base64,AAAA'], hidden_to_model: ['base64_uri'] };
  assert.equal(fitForModel(JSON.stringify(answer), 1000), '{"stdout":"ok"}');
});

test('P-43 words about hidden keys, and lists that are none, stay as they are', () => {
  for (const text of [
    'the key "hidden_to_model" is a list',
    '{"hidden_to_model": "all"}',
    '["hidden_to_model"]',
    'null',
  ]) {
    assert.equal(fitForModel(text, 1000), text);
  }
});

test('P-57 a long answer keeps head and tail and says what is missing', () => {
  const text = `begin${'x'.repeat(1000)}end`;
  const shown = fitForModel(text, 100);
  assert.match(shown, /^beginx{45}\n… 908 characters omitted …\nx{47}end$/u);
  assert.equal(fitForModel('y'.repeat(100), 100), 'y'.repeat(100));
});

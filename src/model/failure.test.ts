import assert from 'node:assert/strict';
import { test } from 'vitest';
import { VivariumError } from '../errors.ts';
import { modelFailure } from './failure.ts';

test('a failure has the status, the words of the endpoint and what to check', () => {
  const error = Object.assign(new Error('401 Incorrect API key provided.'), { status: 401 });
  const failure = modelFailure(error);
  assert.equal(failure.code, 'LLM_FAILED');
  assert.equal(failure.cause, error);
  assert.equal(
    failure.message,
    'The model failed with status 401: 401 Incorrect API key provided. Check the API key and its permissions.',
  );
});

test('a failure without status tells its causes', () => {
  const { message } = modelFailure(new Error('Connection error.', { cause: new Error('connect ECONNREFUSED') }));
  assert.match(message, /Connection error\.: connect ECONNREFUSED\. Check that the endpoint is running/);
});

test('an error of ours stays what it is, and endless words are cut', () => {
  const ours = new VivariumError('LLM_UNSUITABLE', 'no');
  assert.equal(modelFailure(ours), ours);
  assert.ok(modelFailure(new Error('x'.repeat(10_000))).message.length < 700);
});

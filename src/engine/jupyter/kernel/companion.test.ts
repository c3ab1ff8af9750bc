import { expect, test } from 'vitest';
import { fields, integer } from '../../shape.ts';
import type { RequestEnding } from './channel.ts';
import { answerIn, command, question } from './companion.ts';

const MIME = 'application/vnd.vivarium+json';
const Answer = fields({ n: integer() });

function answered(data: Record<string, string>): RequestEnding {
  return { reply: { status: 'ok', user_expressions: { answer: { status: 'ok', data } } }, isWhole: true };
}

test('an answer of the expected shape is found', () => {
  expect(answerIn(Answer, answered({ [MIME]: '{"n":1}' }))).toEqual({ answer: { n: 1 } });
});

test.for<[what: string, ending: RequestEnding, problem: string]>([
  ['a lost kernel', { loss: 'the kernel died' }, 'the kernel died'],
  ['code that fails', { reply: { status: 'error', ename: 'E', evalue: 'v', traceback: [] }, isWhole: true }, 'E: v'],
  ['an aborted request', { reply: { status: 'aborted' }, isWhole: true }, 'the kernel did not answer'],
  ['no expressions', { reply: { status: 'ok' }, isWhole: true }, 'the kernel did not answer'],
  [
    'an expression that fails',
    {
      reply: { status: 'ok', user_expressions: { answer: { status: 'error', ename: 'KeyError', evalue: 'x' } } },
      isWhole: true,
    },
    'KeyError: x',
  ],
  ['another form', answered({ 'text/plain': '{"n":1}' }), 'the kernel answered something else'],
  ['text that is not JSON', answered({ [MIME]: '{' }), 'the kernel answered something else'],
  ['JSON that is too deep', answered({ [MIME]: '['.repeat(100) }), 'the kernel answered something else'],
  ['another shape', answered({ [MIME]: '{"n":"1"}' }), 'the kernel answered something else'],
])('%s is a problem in words', ([, ending, problem]) => {
  expect(answerIn(Answer, ending)).toEqual({ problem });
});

test('questions and commands are silent, and only a failed command drops what was sent after it', () => {
  expect(question('inspect')).toMatchObject({ code: '', isSilent: true, stopOnError: false });
  expect(command('begin', 'last', true)).toMatchObject({ isSilent: true, stopOnError: true });
  expect(command('begin')).not.toHaveProperty('expressions');
});

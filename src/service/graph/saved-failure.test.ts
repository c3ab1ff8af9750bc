import { expect, test } from 'vitest';
import * as failures from '../failures.ts';
import type { PythonExecutorError } from '../failures.ts';
import { reviveFailure, saveFailure } from './saved-failure.ts';

const FACTS = {
  folderPath: '/f',
  technicalDetails: { code: 'X' },
  cause: new Error('below'),
  host: 'h',
  port: 8888,
  generationAttempt: 2,
  errorChain: ['one'],
  syntaxIssues: ['two'],
  tracebackInfo: 'Traceback',
  executionAttempt: 3,
  timeoutSeconds: 4,
  reasons: ['five'],
  rejectedBy: 'Ann',
  reason: null,
  operationType: 'execution',
  maxAttempts: 6,
  stage: 'analysis',
};

type FailureClass = new (message: string, facts: typeof FACTS) => PythonExecutorError;
const CLASSES = Object.entries(failures).filter(([name]) => name !== 'PythonExecutorError') as [string, FailureClass][];

test.for(CLASSES)('a checkpoint keeps a %s as what it is', ([name, Failure]) => {
  const error = new Failure('words', FACTS);
  const revived = reviveFailure(JSON.parse(JSON.stringify(saveFailure(error))) as ReturnType<typeof saveFailure>);
  expect(revived).toBeInstanceOf(Failure);
  expect([revived.name, revived.message, revived.category]).toEqual([name, 'words', error.category]);
  expect(revived.cause).toEqual({ name: 'Error', message: 'below' });
  const own = ({ cause: _cause, ...facts }: Record<string, unknown>): unknown => facts;
  expect(own(Object.fromEntries(Object.entries(revived)))).toEqual(own(Object.fromEntries(Object.entries(error))));
});

test('a failure that nobody knows any more is still a failure', () => {
  const revived = reviveFailure({ type: 'FutureError', message: 'words', facts: {} });
  expect([revived.name, revived.message, revived.category]).toEqual(['WorkflowError', 'words', 'workflow']);
});

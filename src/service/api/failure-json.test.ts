import { expect, test } from 'vitest';
import * as failures from './failures.ts';
import type { PythonExecutorError } from './failures.ts';
import { failureFromJson, failureToJson } from './failure-json.ts';

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
  const revived = failureFromJson(JSON.parse(JSON.stringify(failureToJson(error))) as ReturnType<typeof failureToJson>);
  expect(revived).toBeInstanceOf(Failure);
  expect([revived.name, revived.message, revived.category]).toEqual([name, 'words', error.category]);
  expect(revived.cause).toEqual({ name: 'Error', message: 'below' });
  const own = ({ cause: _cause, ...facts }: Record<string, unknown>): unknown => facts;
  expect(own(Object.fromEntries(Object.entries(revived)))).toEqual(own(Object.fromEntries(Object.entries(error))));
});

test('a failure that nobody knows any more is still a failure', () => {
  const revived = failureFromJson({ type: 'FutureError', message: 'words', facts: {} });
  expect([revived.name, revived.message, revived.category]).toEqual(['WorkflowError', 'words', 'workflow']);
});

test('O-126 what the last attempt failed with is kept as what it was', () => {
  const cause = new failures.ContainerConnectivityError('words', { host: 'lab', port: 8888 });
  const error = new failures.MaxAttemptsExceededError('more', {
    operationType: 'execution',
    maxAttempts: 2,
    errorChain: [],
    cause,
  });
  const revived = failureFromJson(JSON.parse(JSON.stringify(failureToJson(error))) as ReturnType<typeof failureToJson>);
  expect(revived.cause).toBeInstanceOf(failures.ContainerConnectivityError);
  expect(revived.cause).toMatchObject({ host: 'lab', port: 8888, category: 'infrastructure' });
});

test('O-126 failures can be read as examples of the reference do', () => {
  const error = new failures.ContainerConnectivityError('words', {
    host: 'lab',
    port: 8888,
    folderPath: '/f',
    technicalDetails: { code: 'X' },
  });
  expect([error.folder_path, error.technical_details]).toEqual(['/f', { code: 'X' }]);
  expect([error.should_retry_execution(), error.should_retry_code_generation()]).toEqual([true, false]);
  expect(error.get_user_message()).toContain('lab:8888');
});

/** Sessions, their runs and their state. */
import { ClientOptions } from '../../config.ts';
import type { ErrorCode } from '../../errors.ts';
import { ArtifactSchema } from '../../wire/artifact.ts';
import { EventSchema } from '../../wire/event.ts';
import { ExecutionSchema } from '../../wire/execution.ts';
import { HostViewSchema } from '../../wire/http/host.ts';
import { KeyedRunSchema, OnceRunSchema, RunViewSchema, SessionRunSchema } from '../../wire/http/run.ts';
import * as session from '../../wire/http/session.ts';
import { SessionOptionsSchema } from '../../wire/options.ts';
import { CompletionSchema, RollbackSchema } from '../../wire/session.ts';
import { JsonSchema } from '../../wire/values.ts';
import type { Operation } from './operation.ts';

const NO_SESSION: readonly ErrorCode[] = ['SESSION_NOT_FOUND', 'SESSION_CLOSED'];
const BUSY: readonly ErrorCode[] = [...NO_SESSION, 'SESSION_BUSY', 'QUEUE_FULL', 'INIT_FAILED'];
const OPENING: readonly ErrorCode[] = ['SESSION_LIMIT', 'INIT_FAILED', 'ENVIRONMENT_NOT_FOUND', 'SANDBOX_UNAVAILABLE'];
const KEYS: readonly ErrorCode[] = ['IDEMPOTENCY_MISMATCH', 'IDEMPOTENCY_IN_DOUBT'];
const RUN = {
  method: 'post',
  tag: 'runs',
  headers: ['Idempotency-Key'],
  status: 200,
  answer: ExecutionSchema,
  events: EventSchema,
  otherwise: { status: 202, answer: RunViewSchema },
  names: 'Vivarium-Run',
} as const;

export const SESSION_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/host',
    id: 'getHost',
    tag: 'host',
    summary: 'What the server offers to this client.',
    status: 200,
    answer: HostViewSchema,
  },
  {
    method: 'post',
    path: '/v1/sessions',
    id: 'createSession',
    tag: 'sessions',
    summary: 'Opens a session.',
    body: SessionOptionsSchema,
    isBodyOptional: true,
    status: 201,
    answer: session.SessionViewSchema,
    errors: [...OPENING, 'SESSION_EXISTS'],
  },
  {
    method: 'get',
    path: '/v1/sessions',
    id: 'listSessions',
    tag: 'sessions',
    summary: 'Lists the open sessions.',
    query: ClientOptions,
    status: 200,
    answer: session.SessionListSchema,
  },
  {
    method: 'get',
    path: '/v1/sessions/{id}',
    id: 'getSession',
    tag: 'sessions',
    summary: 'Finds an open session.',
    query: ClientOptions,
    status: 200,
    answer: session.SessionViewSchema,
    errors: NO_SESSION,
  },
  {
    method: 'delete',
    path: '/v1/sessions/{id}',
    id: 'closeSession',
    tag: 'sessions',
    summary: 'Ends a session and removes its files.',
    status: 204,
    errors: NO_SESSION,
  },
  {
    method: 'post',
    path: '/v1/sessions/{id}/interrupt',
    id: 'interruptSession',
    tag: 'sessions',
    summary: 'Stops the code that is running, if any, and keeps the state.',
    status: 204,
    errors: NO_SESSION,
  },
  {
    method: 'post',
    path: '/v1/sessions/{id}/reset',
    id: 'resetSession',
    tag: 'sessions',
    summary: 'Starts a fresh interpreter on the same files.',
    status: 204,
    errors: BUSY,
  },
  {
    method: 'post',
    path: '/v1/sessions/{id}/rollback',
    id: 'rollbackSession',
    tag: 'sessions',
    summary: 'Undoes the last run that changed the state.',
    status: 200,
    answer: RollbackSchema,
    errors: [...BUSY, 'NOTHING_TO_ROLL_BACK'],
  },
];

export const RUN_OPERATIONS: readonly Operation[] = [
  {
    ...RUN,
    path: '/v1/sessions/{id}/runs',
    id: 'runInSession',
    summary: 'Runs code in a session.',
    body: SessionRunSchema,
    errors: [...BUSY, ...KEYS],
  },
  {
    ...RUN,
    path: '/v1/runs',
    id: 'run',
    summary: 'Runs code in the session of a chat or client, which is opened if there is none.',
    body: KeyedRunSchema,
    errors: [...BUSY, ...OPENING, ...KEYS],
  },
  {
    ...RUN,
    path: '/v1/runs/once',
    id: 'runOnce',
    summary: 'Runs code in a session of its own, which is gone afterwards.',
    body: OnceRunSchema,
    errors: [...OPENING, ...KEYS],
  },
  {
    method: 'get',
    path: '/v1/runs/{id}',
    id: 'getRun',
    tag: 'runs',
    summary: 'How a run goes, or how it ended.',
    status: 200,
    answer: RunViewSchema,
    errors: ['RUN_NOT_FOUND'],
  },
  {
    method: 'get',
    path: '/v1/runs/{id}/events',
    id: 'followRun',
    tag: 'runs',
    summary: 'The events of a run, from the start or after the last one that was seen.',
    headers: ['Last-Event-ID'],
    status: 200,
    events: EventSchema,
    isStream: true,
    names: 'Vivarium-Run',
    errors: ['RUN_NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/v1/runs/{id}/cancel',
    id: 'cancelRun',
    tag: 'runs',
    summary: 'Stops a run. It ends as `cancelled`.',
    status: 204,
    errors: ['RUN_NOT_FOUND'],
  },
];

export const STATE_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/sessions/{id}/variables',
    id: 'listVariables',
    tag: 'state',
    summary: 'The variables of a session.',
    status: 200,
    answer: session.VariableListSchema,
    errors: BUSY,
  },
  {
    method: 'put',
    path: '/v1/sessions/{id}/variables',
    id: 'setVariables',
    tag: 'state',
    summary: 'Sets variables to JSON values.',
    body: session.ValuesSchema,
    status: 204,
    errors: BUSY,
  },
  {
    method: 'put',
    path: '/v1/sessions/{id}/context',
    id: 'setContext',
    tag: 'state',
    summary: 'Sets `context`, whose data code reads with dots.',
    body: session.ValuesSchema,
    status: 204,
    errors: BUSY,
  },
  {
    method: 'post',
    path: '/v1/sessions/{id}/completions',
    id: 'complete',
    tag: 'state',
    summary: 'What code can be completed with.',
    body: session.CompletionRequestSchema,
    status: 200,
    answer: CompletionSchema,
    errors: BUSY,
  },
  {
    method: 'post',
    path: '/v1/sessions/{id}/tables',
    id: 'exportTable',
    tag: 'state',
    summary: 'Writes all rows of a DataFrame to an artifact.',
    body: session.TableRequestSchema,
    status: 201,
    answer: ArtifactSchema,
    errors: [...BUSY, 'TABLE_UNAVAILABLE'],
  },
  {
    method: 'post',
    path: '/v1/sessions/{id}/packages',
    id: 'installPackages',
    tag: 'state',
    summary: 'Installs packages for a session.',
    body: session.PackageRequestSchema,
    status: 200,
    answer: session.PackageInstallationSchema,
    errors: [...BUSY, 'PACKAGE_REFUSED', 'PACKAGE_UNAVAILABLE'],
  },
  {
    method: 'get',
    path: '/v1/sessions/{id}/notebook',
    id: 'exportNotebook',
    tag: 'state',
    summary: 'The runs of a session, open or ended, as a Jupyter notebook.',
    query: session.NotebookQuerySchema,
    status: 200,
    answer: JsonSchema,
    errors: NO_SESSION,
  },
];

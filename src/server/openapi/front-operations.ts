/** Tools, tasks, approvals, and the server itself. */
import { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import { ApprovalSchema, DecisionSchema } from '../../wire/approval.ts';
import { ApprovalListSchema, TaskEventSchema, TaskRequestSchema, TaskViewSchema } from '../../wire/http/task.ts';
import { ObservationSchema, ToolCallSchema, ToolListSchema } from '../../wire/http/tool.ts';
import { JsonSchema } from '../../wire/values.ts';
import { ApprovalQuery, DecisionQuery, ToolQuery } from '../../wire/http/query.ts';
import type { Operation } from './operation.ts';

const SERVICE: readonly ErrorCode[] = ['PACKAGE_MISSING', 'LLM_NOT_CONFIGURED', 'STORAGE_FAILED'];

export const FRONT_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/tools',
    id: 'listTools',
    tag: 'tools',
    summary: 'The tools that models can be given.',
    query: ToolQuery,
    status: 200,
    answer: ToolListSchema,
  },
  {
    method: 'post',
    path: '/v1/tools/{name}',
    id: 'callTool',
    tag: 'tools',
    summary: 'Calls a tool.',
    body: ToolCallSchema,
    status: 200,
    answer: ObservationSchema,
    errors: ['NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/v1/tasks',
    id: 'beginTask',
    tag: 'tasks',
    summary: 'Has code written, analyzed, approved and run.',
    body: TaskRequestSchema,
    status: 200,
    answer: TaskViewSchema,
    events: TaskEventSchema,
    otherwise: { status: 202, answer: TaskViewSchema },
    names: 'Vivarium-Task',
    errors: SERVICE,
  },
  {
    method: 'get',
    path: '/v1/tasks/{id}',
    id: 'getTask',
    tag: 'tasks',
    summary: 'How far a task has got.',
    status: 200,
    answer: TaskViewSchema,
    errors: [...SERVICE, 'NOT_FOUND'],
  },
  {
    method: 'get',
    path: '/v1/tasks/{id}/events',
    id: 'followTask',
    tag: 'tasks',
    summary: 'The stages of a task that is worked on.',
    headers: ['Last-Event-ID'],
    status: 200,
    events: TaskEventSchema,
    isStream: true,
    errors: ['NOT_FOUND'],
  },
  {
    method: 'get',
    path: '/v1/approvals',
    id: 'listApprovals',
    tag: 'approvals',
    summary: 'Code that waits, or waited, for a person.',
    query: ApprovalQuery,
    status: 200,
    answer: ApprovalListSchema,
    errors: SERVICE,
  },
  {
    method: 'get',
    path: '/v1/approvals/{id}',
    id: 'getApproval',
    tag: 'approvals',
    summary: 'One approval.',
    status: 200,
    answer: ApprovalSchema,
    errors: [...SERVICE, 'APPROVAL_NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/v1/approvals/{id}/decision',
    id: 'decideApproval',
    tag: 'approvals',
    summary: 'Decides, and goes on with the task.',
    query: DecisionQuery,
    body: DecisionSchema,
    status: 200,
    answer: TaskViewSchema,
    events: TaskEventSchema,
    otherwise: { status: 202, answer: TaskViewSchema },
    names: 'Vivarium-Task',
    errors: [...SERVICE, 'APPROVAL_NOT_FOUND', 'APPROVAL_DECIDED', 'APPROVAL_EXPIRED', 'RECORD_INVALID'],
  },
];

const status = z
  .object({ status: z.string().describe('`ok`, or why not.') })
  .meta({ id: 'ServerStatus', description: 'Whether the server works.' });

export const SERVER_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/health',
    id: 'getHealth',
    tag: 'server',
    summary: 'Whether the server is there.',
    status: 200,
    answer: status,
  },
  {
    method: 'get',
    path: '/ready',
    id: 'getReadiness',
    tag: 'server',
    summary: 'Whether sessions can be opened.',
    status: 200,
    answer: status,
  },
  {
    method: 'get',
    path: '/metrics',
    id: 'getMetrics',
    tag: 'server',
    summary: 'Numbers for Prometheus; for an admin if there are keys.',
    status: 200,
    answer: { mime: 'text/plain', description: 'Numbers in the text format of Prometheus.' },
  },
  {
    method: 'get',
    path: '/openapi.json',
    id: 'getDocument',
    tag: 'server',
    summary: 'This document.',
    status: 200,
    answer: JsonSchema,
  },
  {
    method: 'get',
    path: '/docs',
    id: 'getDocs',
    tag: 'server',
    summary: 'This document as a page.',
    status: 200,
    answer: { mime: 'text/html', description: 'The page.' },
  },
];

/** Tasks of the execution service, and the approvals that they wait for. */
import { Hono } from 'hono';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import { DecisionSchema } from '../../wire/approval.ts';
import { TaskRequestSchema } from '../../wire/http/task.ts';
import { leaving, sendEvents, sendJson, sendText } from '../http/answer.ts';
import { readJson } from '../http/body.ts';
import { lastEventId, wantsEvents } from '../http/events.ts';
import type { ServerContext, ServerEnv, ServerParts } from '../parts/parts.ts';
import type { TaskWork } from '../tasks/task-registry.ts';
import { ApprovalQuery, DecisionQuery } from '../../wire/http/query.ts';

export function taskRoutes({ tasks }: ServerParts): Hono<ServerEnv> {
  return new Hono<ServerEnv>()
    .post('/tasks', async (c) => {
      const { background = false, ...request } = await readJson(c, TaskRequestSchema);
      const { taskObjective } = request;
      const named = { userQuery: taskObjective, executionFolderName: folderNameOf(taskObjective), ...request };
      return answer(c, await tasks.begin(named, c.var.client), background);
    })
    .get('/tasks/:id', async (c) => {
      const { status, body } = await tasks.view(c.req.param('id'), c.var.client);
      return sendText(c, status, body);
    })
    .get('/tasks/:id/events', (c) => {
      const work = tasks.find(c.req.param('id'), c.var.client);
      if (work === undefined) throw notThere(c.req.param('id'));
      const after = lastEventId(c); // before the answer begins, since it may be refused
      return sendEvents(c, (gone) => work.log.read(after, gone));
    })
    .get('/approvals', async (c) => {
      const filter = parse(ApprovalQuery, c.req.query());
      return sendJson(c, 200, { approvals: await tasks.approvals(filter, c.var.client) });
    })
    .get('/approvals/:id', async (c) => sendJson(c, 200, await tasks.approval(c.req.param('id'), c.var.client)))
    .post('/approvals/:id/decision', async (c) => {
      const { background } = parse(DecisionQuery, c.req.query());
      const decision = await readJson(c, DecisionSchema);
      return answer(c, await tasks.decide(c.req.param('id'), decision, c.var.client), background === 'true');
    });
}

/** Answers at once, with a stream, or when the task goes no further by itself. It goes on even if nobody waits. */
async function answer(c: ServerContext, work: TaskWork, isBackground: boolean): Promise<Response> {
  const headers = { 'vivarium-task': work.id };
  if (isBackground) return sendJson(c, 202, { id: work.id, status: 'running' }, headers);
  if (wantsEvents(c)) return sendEvents(c, (gone) => work.log.read(0, gone), headers);
  using client = leaving(c.env.outgoing);
  const { status, body } = (await Promise.race([work.ended, client.left])) ?? { status: 499, body: '' };
  return sendText(c, status, body, headers);
}

function notThere(id: string): VivariumError {
  return new VivariumError(
    'NOT_FOUND',
    `Nobody works on a task ${JSON.stringify(id)} now. GET /v1/tasks/ID has what came of it.`,
  );
}

/** The first words of the task as a folder name. */
function folderNameOf(objective: string): string {
  const words = objective.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.join('-').slice(0, 40).replace(/-+$/, '') || 'task';
}

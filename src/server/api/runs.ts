/** Runs: start, watch, come back to, cancel. */
import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import { KeyedRunSchema, OnceRunSchema, SessionRunSchema } from '../../wire/http/run.ts';
import { actingFor } from '../access/client.ts';
import { leaving, sendEvents, sendNothing, sendText } from '../http/answer.ts';
import { readText, toJson } from '../http/body.ts';
import { lastEventId, wantsEvents } from '../http/events.ts';
import type { ServerContext, ServerEnv, ServerParts } from '../parts/parts.ts';
import { Idempotency } from '../runs/idempotency.ts';
import { replay } from '../runs/replay.ts';
import { resultOf, type StoredStep } from '../runs/run-store.ts';
import { ServerRun, type RunPlan } from '../runs/server-run.ts';
import { sessionOf } from './sessions.ts';

export function runRoutes({ runs }: ServerParts): Hono<ServerEnv> {
  const starter = new Starter(runs);
  return new Hono<ServerEnv>()
    .post('/sessions/:id/runs', async (c) => {
      const body = await readText(c);
      const { code, background, executionId, ...options } = parse(SessionRunSchema, toJson(body));
      const asked = { code, background, executionId, ...options, needsSession: true };
      return starter.start(c, body, asked, async () => {
        const session = await sessionOf(c);
        const { clientId: owner, id: sessionId } = session;
        return { owner, sessionId, work: (hooks) => session.runCode(code, { ...options, ...hooks }) };
      });
    })
    .post('/runs', async (c) => {
      const body = await readText(c);
      const { code, background, executionId, ...options } = parse(KeyedRunSchema, toJson(body));
      const { host } = c.var;
      return starter.start(c, body, { code, background, executionId, ...options }, async () => ({
        owner: actingFor(c.var.client, options.clientId).clientId ?? null,
        sessionId: null,
        work: (hooks) => host.runCode(code, { ...options, ...hooks }),
      }));
    })
    .post('/runs/once', async (c) => {
      const body = await readText(c);
      const { code, background, executionId, ...options } = parse(OnceRunSchema, toJson(body));
      const { host } = c.var;
      return starter.start(c, body, { code, background, executionId, ...options }, async () => ({
        owner: actingFor(c.var.client, options.clientId).clientId ?? null,
        sessionId: null,
        work: (hooks) => host.runOnce(code, { ...options, ...hooks }),
      }));
    })
    .get('/runs/:id', async (c) => sendText(c, 200, viewOf(await runs.get(c.req.param('id'), c.var.client))))
    .get('/runs/:id/events', async (c) => follow(c, await runs.get(c.req.param('id'), c.var.client), lastEventId(c)))
    .post('/runs/:id/cancel', async (c) => {
      const run = await runs.get(c.req.param('id'), c.var.client);
      if (run instanceof ServerRun) run.cancel();
      return sendNothing(c);
    });
}

interface AskedRun {
  readonly code: string;
  readonly background?: boolean | undefined;
  readonly executionId?: string | undefined;
  readonly echo?: 'all' | 'last' | 'none' | undefined;
  /** Whether it is made only in a session that is there already. */
  readonly needsSession?: boolean;
}

/** Where a run is made, and how. It is looked up only if the run is not known yet. */
type Place = Pick<RunPlan, 'owner' | 'sessionId' | 'work'>;

/** Starts runs, each once for its idempotency key, and answers as the client asked. */
class Starter {
  readonly #runs: ServerParts['runs'];
  readonly #idempotency: Idempotency;

  constructor(runs: ServerParts['runs']) {
    this.#runs = runs;
    this.#idempotency = new Idempotency(runs);
  }

  async start(c: ServerContext, body: string, asked: AskedRun, find: () => Promise<Place>): Promise<Response> {
    const { code, echo = 'last', background: isBackground = false, executionId, needsSession = false } = asked;
    const id = executionId ?? randomUUID();
    const start = async (): Promise<ServerRun> => {
      if (executionId !== undefined) await this.#runs.assertFree(id);
      return this.#runs.start({ id, code, echo, isBackground, ...(await find()) });
    };
    const key = c.req.header('idempotency-key');
    const request = { client: c.var.client, content: [c.req.method, c.req.path, body], needsSession, runId: id, start };
    const run = await (key === undefined ? start() : this.#idempotency.run({ key, ...request }));
    if (isBackground) return sendText(c, 202, viewOf(run), { 'vivarium-run': run.id });
    return wantsEvents(c) ? follow(c, run, 0) : answer(c, run);
  }
}

/** Answers with the execution, when there is one. */
async function answer(c: ServerContext, run: ServerRun | StoredStep): Promise<Response> {
  const { status, body } = run instanceof ServerRun ? await endOf(c, run) : run;
  return sendText(c, status, body, { 'vivarium-run': run.id });
}

async function endOf(c: ServerContext, run: ServerRun): Promise<{ readonly status: number; readonly body: string }> {
  using _ = run.watch();
  using client = leaving(c.env.outgoing);
  await Promise.race([run.ended, client.left]);
  return run.end ?? { status: 499, body: '' }; // nobody is there any more
}

/** Answers with the events of a run. */
async function follow(c: ServerContext, run: ServerRun | StoredStep, after: number): Promise<Response> {
  const headers = { 'vivarium-run': run.id };
  if (!(run instanceof ServerRun)) {
    if (after > 0) throw eventsGone(run.id); // what comes now has other numbers
    return await sendEvents(c, () => replayed(run), headers);
  }
  using _ = run.watch();
  return await sendEvents(c, (gone) => run.log.read(after, gone), headers);
}

async function* replayed(run: StoredStep): AsyncGenerator<string, void, undefined> {
  const result = resultOf(run);
  const events = 'error' in result ? [] : replay(result.execution, run.mayHaveWritten);
  let number = 0;
  for (const event of events) {
    number += 1;
    yield `id: ${number}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  }
  if ('error' in result) yield `id: 1\nevent: error\ndata: ${JSON.stringify(result.error)}\n\n`;
}

function eventsGone(id: string): VivariumError {
  return new VivariumError(
    'RUN_NOT_FOUND',
    `The events of run ${id} are no longer kept one by one. GET /v1/runs/${id} has its result.`,
  );
}

function viewOf(run: ServerRun | StoredStep): string {
  const { id, sessionId } = run;
  const end = run instanceof ServerRun ? run.end : run;
  const view = JSON.stringify({ id, sessionId, status: end === undefined ? 'running' : 'ended' });
  if (end === undefined) return view;
  return `${view.slice(0, -1)},"${end.status === 200 ? 'execution' : 'error'}":${end.body}}`;
}

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { VivariumError } from '../../errors.ts';
import { EventLog } from './event-log.ts';
import { ServerRun, type RunPlan } from './server-run.ts';

const PLAN = { id: 'r', owner: null, sessionId: 's', code: '1', echo: 'last', isBackground: false } as const;

function start(work: RunPlan['work']): ServerRun {
  const log = new EventLog(() => {
    throw new Error('needs no file');
  });
  const parts = { log, reattachMs: 1000, keep: () => Promise.resolve(), onEnd: () => undefined };
  return new ServerRun({ ...PLAN, work }, parts);
}

/** What the work of a run refers to is like the request and the session of a real one. */
function startWithRequest(): { readonly run: ServerRun; readonly request: WeakRef<object> } {
  const request = { body: 'x'.repeat(1000) };
  const run = start(async () => {
    throw new VivariumError('SESSION_CLOSED', request.body);
  });
  return { run, request: new WeakRef(request) };
}

test('a run that has ended keeps its answer, and neither its request nor its session', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { run, request } = startWithRequest();
  using _ = run.watch();
  expect(await run.ended).toMatchObject({ status: 410, code: 'SESSION_CLOSED', ran: null });
  await expect
    .poll(
      () => {
        collect();
        return request.deref() === undefined;
      },
      { timeout: 2000 },
    )
    .toBe(true);
  expect(run.end?.status).toBe(410);
});

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { VivariumError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { createHost } from '../host/local/local-host.ts';
import type { Session } from '../host/session.ts';
import { describeClosed, LazyHost, LazySession } from './lazy.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost({ poolSize: 0 });
});
afterAll(() => host?.close());

/** A session that opens when `open` is called, and counts how often it was asked for. */
function gated(): { lazy: LazySession; open: () => void; opened: Session[] } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const opened: Session[] = [];
  const lazy = new LazySession(async () => {
    await promise;
    const session = await host.createSession();
    opened.push(session);
    return session;
  });
  onTestFinished(() => lazy.close());
  return { lazy, open: resolve, opened };
}

test('a shared host is returned as it is, and closing the tool leaves it open', async () => {
  const lazy = new LazyHost(host);
  expect(lazy.known).toBe(host);
  expect(await lazy.get()).toBe(host);
  await lazy.close();
  await using session = await host.createSession();
  expect(session.isClosed).toBe(false);
});

test('a closed tool gives no host, neither shared nor its own', async () => {
  for (const lazy of [new LazyHost(host), new LazyHost(undefined)]) {
    await Promise.all([lazy.close(), lazy.close()]);
    await expect(lazy.get()).rejects.toMatchObject({ code: 'ENGINE_CLOSED', message: /Create a new one/ });
    expect(lazy.close()).toBe(lazy.close());
  }
});

test('its own host is started once, on first use, and closed even while it starts', async () => {
  const lazy = new LazyHost(undefined, { poolSize: 0 });
  expect(lazy.known).toBeUndefined();
  const [first, second] = [lazy.get(), lazy.get()];
  const closing = lazy[Symbol.asyncDispose]();
  const started = await first;
  expect(await second).toBe(started);
  await closing;
  await expect(started.createSession()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
});

test('a host that does not start fails each caller, and closing is still possible', async () => {
  const lazy = new LazyHost(undefined, { python: '/nonexistent/python' });
  await expect(lazy.get()).rejects.toBeInstanceOf(VivariumError);
  await expect(lazy.get()).rejects.toBeInstanceOf(VivariumError);
  expect(lazy.known).toBeUndefined();
  await lazy.close();
});

test('callers at the same time get one session', async () => {
  const { lazy, open, opened } = gated();
  expect(lazy.isStarted).toBe(false);
  const waiting = [lazy.get(), lazy.get(), lazy.get()];
  expect(lazy.isStarted).toBe(true);
  open();
  const sessions = await Promise.all(waiting);
  expect(new Set(sessions).size).toBe(1);
  expect(opened).toHaveLength(1);
  expect(lazy.takeLoss()).toBeNull();
});

test('an opening that fails is reported to all who wait, and the next call tries again', async () => {
  let attempts = 0;
  const lazy = new LazySession(() => {
    attempts += 1;
    return attempts === 1 ? Promise.reject(new Error('full')) : host.createSession();
  });
  onTestFinished(() => lazy.close());
  const outcomes = await Promise.allSettled([lazy.get(), lazy.get()]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([attempts, lazy.isStarted]).toEqual([1, false]);
  expect((await lazy.get()).isClosed).toBe(false);
  expect(attempts).toBe(2);
});

test('an ended session is replaced once for all callers, and its loss is told once', async () => {
  const { lazy, open, opened } = gated();
  open();
  const first = await lazy.get();
  expect(lazy.hasEnded).toBe(false);
  await first.close();
  expect(lazy.hasEnded).toBe(true);
  const [second, third] = await Promise.all([lazy.get(), lazy.get()]);
  expect(second).not.toBe(first);
  expect(third).toBe(second);
  expect(opened).toHaveLength(2);
  expect(lazy.hasEnded).toBe(false);
  expect(lazy.takeLoss()).toContain(first.id);
  expect(lazy.takeLoss()).toBeNull();
});

test('closing waits for a session that is being opened, and closes it', async () => {
  const { lazy, open, opened } = gated();
  const waiting = lazy.get();
  const closing = lazy.close();
  open();
  await Promise.all([waiting, closing]);
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([true]);
  expect(lazy.isStarted).toBe(false);
  await lazy.close();
});

test('closing does nothing if no session was ever opened, or if it could not be', async () => {
  const { lazy, opened } = gated();
  await lazy.close();
  expect(opened).toEqual([]);
  const failing = new LazySession(() => Promise.reject(new Error('full')));
  await expect(failing.get()).rejects.toThrow('full');
  await failing.close();
});

test('a closed session says in its own words why it was closed', async () => {
  const session = await host.createSession({ id: 'told' });
  await session.close();
  expect(await describeClosed(session)).toMatch(/told/);
  await using open = await host.createSession({ id: 'alive' });
  expect(await describeClosed(open)).toBe('Session alive has ended.');
});

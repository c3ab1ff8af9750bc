import { expect, test } from 'vitest';
import type { NetworkConnection } from '../../../execution/execution.ts';
import type { NetworkAttempt } from './gate.ts';
import { NetworkLog } from './network-log.ts';

function attempt(id: number, more: Partial<NetworkAttempt> = {}): NetworkAttempt {
  const usual = { host: 'a.test', port: 443, address: '192.0.2.1', decision: 'allowed', reason: null } as const;
  return { event: 'attempt', enclosure: 's1', id, ...usual, ...more };
}

const ALLOWED = { host: 'a.test', port: 443, address: '192.0.2.1', decision: 'allowed' };

test('a run has its connections with their bytes, closed or open', () => {
  const log = new NetworkLog({ log: true });
  const events: NetworkConnection[] = [];
  log.begin((connection) => events.push(connection));
  log.onAttempt(attempt(1));
  log.onAttempt(attempt(2));
  log.onAttempt(attempt(3, { decision: 'refused', reason: 'no', address: null }));
  log.onClosed([1, 10, 20]);
  const refused = { host: 'a.test', port: 443, decision: 'refused', reason: 'no' };
  expect(events).toEqual([ALLOWED, ALLOWED, refused]);
  expect(log.end([[2, 5, 6]])).toEqual({
    connections: [
      { ...ALLOWED, sentBytes: 10, receivedBytes: 20 },
      { ...ALLOWED, sentBytes: 5, receivedBytes: 6 },
      refused,
    ],
    omitted: 0,
  });
});

test('a connection that stays open is told again only with what passed since', () => {
  const log = new NetworkLog({ log: true });
  log.onAttempt(attempt(1));
  expect(log.end([[1, 5, 6]]).connections).toHaveLength(1);
  expect(log.end([[1, 5, 6]]).connections).toEqual([]);
  log.onClosed([1, 7, 16]);
  expect(log.end([]).connections).toEqual([{ ...ALLOWED, sentBytes: 2, receivedBytes: 10 }]);
  expect(log.end([]).connections).toEqual([]);
});

test('what comes between runs is told to the next one, also after another interpreter took over', () => {
  const log = new NetworkLog({ log: true });
  log.end(null);
  log.onAttempt(attempt(1, { reason: 'it did not answer' }));
  const next = new NetworkLog({ log: true });
  next.inherit(log);
  const events: NetworkConnection[] = [];
  next.begin((connection) => events.push(connection));
  expect(events).toEqual([{ ...ALLOWED, reason: 'it did not answer' }]);
  expect(next.end(null).connections).toEqual(events);
});

test('of very many attempts the first are told, and the others counted', () => {
  const log = new NetworkLog({ log: true });
  for (let id = 0; id < 10_000; id += 1) log.onAttempt(attempt(id, { decision: 'refused', reason: 'no' }));
  const { connections, omitted } = log.end(null);
  expect(connections.length + omitted).toBe(10_000);
  expect(connections.length).toBe(500);
  expect(log.end(null)).toEqual({ connections: [], omitted: 0 });
});

test('without a log, only what was refused is told', () => {
  const log = new NetworkLog({ log: false });
  log.onAttempt(attempt(1));
  log.onAttempt(attempt(2, { decision: 'refused' }));
  expect(log.end([[1, 5, 6]]).connections).toMatchObject([{ decision: 'refused' }]);
});

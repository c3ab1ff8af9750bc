import { expect, test } from 'vitest';
import type { NetworkConnection } from '../execution/execution.ts';
import { toNotebook } from './export.ts';
import { RunHistory, type RecordEnd } from './history.ts';
import type { Cell } from './nbformat.ts';

const ENDED: RecordEnd = {
  outcome: { status: 'succeeded' },
  state: { status: 'preserved', generation: 1, variables: { added: [], changed: [], removed: [] } },
  durationMs: 1,
  mayHaveWritten: true,
};
const allowed = (sentBytes: number): NetworkConnection => ({
  host: 'api.test',
  port: 443,
  address: '192.0.2.1',
  decision: 'allowed',
  sentBytes,
  receivedBytes: 10,
});
const refused = (host: string): NetworkConnection => ({ host, port: 443, decision: 'refused', reason: 'not listed' });

function cellOf(end: Partial<RecordEnd>, bounds = {}): Cell | undefined {
  const history = new RunHistory(bounds);
  history.begin({ code: 'fetch()', echo: 'last', kind: 'run' })([], { ...ENDED, ...end });
  return toNotebook(history, { pythonVersion: '3.13.0' }).cells.find(({ id }) => id === 'run-1');
}

test('the cell of a run says which hosts it reached and which were refused, with their bytes', () => {
  const network = [allowed(5), refused('evil.test'), allowed(7)];
  const hosts = [
    { host: 'api.test', port: 443, decision: 'allowed', connections: 2, sent_bytes: 12, received_bytes: 20 },
    { host: 'evil.test', port: 443, decision: 'refused', connections: 1, sent_bytes: 0, received_bytes: 0 },
  ];
  expect(cellOf({ network })?.metadata.vivarium).toEqual({ network: { hosts } });
  const stopped = cellOf({ network, outcome: { status: 'timed-out', limit: 'wall', limitMs: 5 } });
  expect(stopped).toMatchObject({ cell_type: 'markdown', metadata: { vivarium: { network: { hosts } } } });
});

test('a run that reached nothing has no such metadata', () => {
  expect(cellOf({})?.metadata).not.toHaveProperty('vivarium');
});

test('very many hosts are bounded and counted, and go with the outputs when a history is full', () => {
  const network = Array.from({ length: 500 }, (_, index) => refused(`${'x'.repeat(200)}${index}.test`));
  const told = cellOf({ network, omittedConnections: 1000 })?.metadata.vivarium?.network;
  expect(told?.hosts).toHaveLength(50);
  expect(told?.omitted_connections).toBe(1450);
  expect(cellOf({ network }, { maxBytes: 1000 })?.metadata).not.toHaveProperty('vivarium');
});

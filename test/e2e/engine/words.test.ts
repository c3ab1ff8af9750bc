/** What a session can forge: reports about itself, and nothing else. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory } from './laboratory.ts';

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({ limits: { memoryMb: 256, graceMs: 100 } });
});
afterAll(() => laboratory?.close());

const THREAD = 'import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()';

test('a live thread is named by the receipt of the very run that brings it, and the remedy once', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 0');
  const first = await subject.run(`${THREAD}; x = 1`);
  expect(first.state).toMatchObject({
    unprotected: expect.stringMatching(/a live thread/) as unknown,
    remedy: expect.any(String) as unknown,
  });
  const second = await subject.run('x');
  expect(second.state.unprotected).toMatch(/a live thread/);
  expect(second.state).not.toHaveProperty('remedy');
});

test('a twin that can be made again is said to be there again', async () => {
  await using subject = await laboratory.open();
  await subject.run(`${THREAD.replace('60', '0.2')}; x = 1`);
  await subject.run('time.sleep(0.5)');
  expect((await subject.run('y = 1')).state).not.toHaveProperty('unprotected');
});

test.for(['"["*1000', '"no JSON"', '"[" * 100 + "]" * 100'])(
  'a value that is no JSON (%s) is a breach, and no error of the host',
  async (forged) => {
    await using subject = await laboratory.open();
    await subject.run('x = 41');
    const code = `import sys; sys.modules["_vivarium.worker.main"].message_value = lambda value: ${forged}`;
    const execution = await subject.run(code, { resultVariable: 'x' });
    expect(execution).toMatchObject({
      outcome: { status: 'crashed', reason: expect.stringMatching(/broke the protocol/) as unknown },
      state: { status: 'restored' },
    });
    expect(await subject.evaluate('x + 1')).toBe('42');
  },
);

test('a look that changes something is a change: it is guarded and can be undone', async () => {
  await using subject = await laboratory.open();
  await subject.run('import collections; d = collections.defaultdict(list)');
  expect((await subject.run('d["new"]')).state.variables).toEqual({ added: [], changed: ['d'], removed: [] });
  expect((await subject.run('import os; os._exit(0)')).state.status).toBe('restored');
  expect(await subject.evaluate('dict(d)')).toBe("{'new': []}");
});

test('a look that changed something can be rolled back', async () => {
  await using subject = await laboratory.open();
  await subject.run('import collections; d = collections.defaultdict(list)');
  await subject.run('d["new"]');
  await subject.session.rollback();
  expect(await subject.evaluate('dict(d)')).toBe('{}');
});

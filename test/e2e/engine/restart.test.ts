/** A zygote that died is started again by the first call that needs it, for every other call as well. */
import { expect, test } from 'vitest';
import { Laboratory } from './laboratory.ts';
import { descendants, roleOf } from './processes.ts';

test('a caller that gives up while the zygote starts again spoils it for nobody else', async () => {
  await using laboratory = await Laboratory.start();
  await using witness = await laboratory.open();
  await witness.run('x = 1'); // a state that no fresh interpreter has
  const running = witness.run('while True: pass');
  for (const one of descendants()) if (roleOf(one) === 'zygote') process.kill(one.pid, 'SIGKILL');
  expect((await running).state.status).toBe('lost'); // so the engine knows of it
  const giveUp = new AbortController();
  const first = laboratory.open({}, { signal: giveUp.signal });
  const second = laboratory.open();
  giveUp.abort('no longer needed');
  await expect(first).rejects.toBe('no longer needed');
  await using subject = await second;
  expect(await subject.evaluate('40 + 2')).toBe('42');
});

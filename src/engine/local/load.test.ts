import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { Load } from './load.ts';

test('a core is spare while fewer sessions run than there are cores', () => {
  const load = new Load();
  for (let busy = 0; busy < availableParallelism(); busy += 1) {
    expect(load.hasSpareCore).toBe(true);
    load.begin();
  }
  expect(load.hasSpareCore).toBe(false);
  load.end();
  expect(load.hasSpareCore).toBe(true);
});

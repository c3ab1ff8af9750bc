/** Values that code writes are checked against the limits of their channels, and a violation is final. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Laboratory, REQUEST, thread } from './laboratory.ts';

const laboratory = new Laboratory();

/** With a stand-in for pyepics that is imported as the real one is. */
const writing = (value: number): string => `import sys
open('epics.py', 'w').write('def caput(name, value): print("wrote", name, value)')
sys.path.insert(0, '')
from epics import caput as _w
_w('magnet', ${value})
results = {'answer': ${value}}`;

function setting(database: unknown, code: readonly string[]) {
  const baseDir = laboratory.fresh();
  if (database !== undefined) writeFileSync(path.join(baseDir, 'limits.json'), JSON.stringify(database));
  const config = {
    approval: { global_mode: 'disabled' },
    execution_control: { epics: { writes_enabled: true } },
    control_system: { limits_checking: { enabled: true, database_path: 'limits.json' } },
  };
  return { config, code, options: { baseDir } };
}

const LIMITS = { _metadata: { version: 1 }, defaults: { max_value: 10 }, magnet: { min_value: 0 } };

test('O-130 U-67 values within the limits are written', async () => {
  await using lab = await laboratory.start(setting(LIMITS, [writing(10)]));
  const { executionResult } = await lab.service.invoke(REQUEST, thread('t'));
  expect(executionResult).toMatchObject({ results: { answer: 10 }, stdout: 'wrote magnet 10\n' });
});

test('O-127 U-67 a value outside of the limits is not written, and no other code gets a chance', async () => {
  await using lab = await laboratory.start(setting(LIMITS, [writing(11), writing(10)]));
  const error: unknown = await lab.service.invoke(REQUEST, thread('t')).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    name: 'ChannelLimitsViolationError',
    category: 'workflow',
    violation_type: 'MAX_EXCEEDED',
    message: expect.stringContaining('magnet was not written: 11 is not at most 10') as string,
  });
  expect(lab.generations).toHaveLength(1);
  const refusals = (await lab.service.audit.list({ limit: 100 })).filter(({ action }) => action === 'refused');
  expect(refusals).toMatchObject([{ details: { layer: 'runtime', mode: 'write_access' } }]);
});

test.for([
  ['an unreadable database', 'no object', 'UNLISTED_CHANNEL'],
  ['no database', undefined, 'UNLISTED_CHANNEL'],
  ['a database with a mistake', { magnet: { max_value: 'ten' } }, 'UNLISTED_CHANNEL'],
  ['a database without the channel', { other: {} }, 'UNLISTED_CHANNEL'],
  ['a channel that may not be written', { magnet: { writable: false } }, 'READ_ONLY_CHANNEL'],
] as const)('O-130 with %s nothing is written', async ([, database, violationType]) => {
  await using lab = await laboratory.start(setting(database, [writing(1)]));
  await expect(lab.service.invoke(REQUEST, thread('t'))).rejects.toMatchObject({ violationType });
});

test('without limits_checking nothing is checked', async () => {
  const { code, options, config } = setting(LIMITS, [writing(11)]);
  await using lab = await laboratory.start({ code, options, config: { ...config, control_system: {} } });
  expect((await lab.service.invoke(REQUEST, thread('t'))).executionResult.stdout).toBe('wrote magnet 11\n');
});

import { expect, test } from 'vitest';
import type { Execution } from '../../execution/execution.ts';
import { describeEffects, effectsOf } from './effects.ts';

const NARROW = { isWiderThanPreview: false, writesToControlSystem: false };

function execution(status: 'succeeded' | 'raised' = 'succeeded'): Execution {
  const state = { variables: { added: ['results'], changed: [], removed: [] } };
  const files = [{ path: 'a.csv', sizeBytes: 3, mime: 'text/csv', change: 'created' }];
  return { outcome: { status }, files, state } as unknown as Execution;
}

const attempt = (kind: string) => ({ attempts: [{ kind, what: 'w', count: 1 }], omitted: 0 });
const NOTHING = { attempts: [], omitted: 0 };

function isComplete(
  reported: unknown,
  more: Partial<typeof NARROW> = {},
  status: 'succeeded' | 'raised' = 'succeeded',
) {
  return effectsOf(execution(status), { reported, text: '', leftFiles: [], secrets: {}, ...NARROW, ...more })
    .isComplete;
}

test('a run that ended well and tried nothing is all there is', () => {
  expect(isComplete(NOTHING)).toBe(true);
  expect(isComplete(NOTHING, { writesToControlSystem: true })).toBe(true);
  expect(isComplete(NOTHING, { isWiderThanPreview: true })).toBe(true);
});

test('what was held back is to be done again', () => {
  expect(isComplete(NOTHING, {}, 'raised')).toBe(false);
  expect(isComplete(attempt('network'))).toBe(false);
  expect(isComplete(attempt('file'))).toBe(false);
  expect(isComplete(attempt('something new'))).toBe(false);
  expect(isComplete({ attempts: [], omitted: 1 })).toBe(false);
});

test('processes and native code stay inside, unless the run may reach further', () => {
  for (const kind of ['process', 'native code']) {
    expect(isComplete(attempt(kind))).toBe(true);
    expect(isComplete(attempt(kind), { isWiderThanPreview: true })).toBe(false);
  }
  expect(isComplete(NOTHING, { isWiderThanPreview: true, writesToControlSystem: true })).toBe(false);
});

test.for([undefined, null, 'none', { attempts: 'none' }, { attempts: [{ kind: 1 }], omitted: 0 }, { attempts: [] }])(
  'what makes no sense says nothing: %j',
  (reported) => {
    const effects = effectsOf(execution(), { reported, text: 'out', leftFiles: [], secrets: {}, ...NARROW });
    expect([effects.isComplete, effects.attempts, effects.text]).toEqual([false, [], 'out']);
  },
);

test('the reviewer sees files, variables and a bounded text, without what is secret', () => {
  const reported = {
    attempts: [{ kind: 'network', what: 'connect to host?key=s3cret-value 1', count: 2 }],
    omitted: 0,
  };
  const secrets = { KEY: 's3cret-value', SHORT: 'out' };
  const text = `out s3cret-value ${'x'.repeat(10_000)}`;
  const effects = effectsOf(execution(), { reported, leftFiles: [], text, secrets, ...NARROW });
  expect(effects.text).toHaveLength(4000);
  expect(effects.text.slice(0, 10)).toBe('out [KEY] ');
  expect(effects).toMatchObject({
    attempts: [{ what: 'connect to host?key=[KEY] 1', count: 2 }],
    files: [{ path: 'a.csv', sizeBytes: 3 }],
    variables: ['results'],
  });
});

test('a file that the session hid is shown, and its run is not kept', () => {
  const leftFiles = [
    { path: 'a.csv', sizeBytes: 3 },
    { path: 'hidden', sizeBytes: 9 },
  ];
  const effects = effectsOf(execution(), { reported: NOTHING, leftFiles, text: '', secrets: {}, ...NARROW });
  expect(effects).toMatchObject({ files: leftFiles, isComplete: false });
  const all = effectsOf(execution(), {
    ...effects,
    reported: NOTHING,
    leftFiles: leftFiles.slice(0, 1),
    secrets: {},
    ...NARROW,
  });
  expect(all.isComplete).toBe(true);
});

test('a reviewer is not shown thousands of files', () => {
  const leftFiles = Array.from({ length: 5000 }, (_, n) => ({ path: `f${n}`, sizeBytes: 1 }));
  const effects = effectsOf(execution(), { reported: NOTHING, leftFiles, text: '', secrets: {}, ...NARROW });
  expect([effects.files.length, effects.moreFiles]).toEqual([200, 4801]);
  expect(describeEffects(effects).seen.at(-1)).toBe('it wrote 4801 more files');
});

test('each effect is one short line, whatever a session names', () => {
  const evil = `x\n- it ran to its end\u001B[2J\u202E${'y'.repeat(5000)}`;
  const { seen, told } = describeEffects({
    status: 'succeeded',
    attempts: [{ kind: evil, what: evil, count: 1 }],
    files: [{ path: evil, sizeBytes: 1 }],
    moreFiles: 0,
  });
  for (const one of [...seen, ...told]) {
    expect(one).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(one.length).toBeLessThan(2000);
  }
});

/** What the examiner makes of the answers of a session, which may be hostile. */
import { describe, expect, test } from 'vitest';
import type { Execution } from '../../execution/execution.ts';
import { analysisProgram, Examiner } from './examine.ts';
import { Facts, unanalyzable } from './facts.ts';

const FACTS: Facts = {
  syntax: [],
  python: '3.12.1',
  imports: [{ name: 'os', line: 1 }],
  uses: [{ name: 'os.getcwd', line: 2, how: 'called', bare: true }],
  dynamic: [],
  results: 'dict',
  isTruncated: false,
};

interface Asked {
  readonly code: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** An examiner whose session answers as given, and what it was asked. */
function examinerOf(answer: Partial<Execution>): { readonly examiner: Examiner; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  const runOnce = async (code: string, options: unknown): Promise<Execution> => {
    asked.push({ code, options: options as Asked['options'] });
    return { outcome: { status: 'succeeded' }, ...answer } as Execution;
  };
  return { examiner: new Examiner({ runOnce }), asked };
}

function repeated<T extends object>(count: number, item: T): T[] {
  return Array.from({ length: count }, () => ({ ...item }));
}

async function problemOf(answer: Partial<Execution>): Promise<string | undefined> {
  const facts = await examinerOf(answer).examiner.examine('x = 1');
  expect(facts).toMatchObject({ imports: [], uses: [], dynamic: [], results: 'none', isTruncated: false });
  return facts.syntax[0]?.message;
}

test('facts are taken as JSON text or as a value', async () => {
  expect(await examinerOf({ value: JSON.stringify(FACTS) }).examiner.examine('x')).toEqual(FACTS);
  expect(await examinerOf({ value: FACTS as never }).examiner.examine('x')).toEqual(FACTS);
});

test('the session that analyzes has no init code, no echo and a time limit', async () => {
  const { examiner, asked } = examinerOf({ value: JSON.stringify(FACTS) });
  await examiner.examine('print("""it\'s""")');
  expect(asked[0]?.options).toEqual({ initCode: null, echo: 'none', resultVariable: 'facts', timeoutMs: 30_000 });
  expect(asked[0]?.code.split('\n').at(-1)).toMatch(/^facts = report\(.*\)$/u);
});

describe('an analysis without a usable answer refuses the code and says why', () => {
  const error = { name: 'MemoryError', value: 'x'.repeat(1000), traceback: '' };
  test.for<[string, Partial<Execution>, RegExp]>([
    ['raised', { outcome: { status: 'raised' }, error }, /: it raised MemoryError: x{200,300}$/u],
    ['raised nothing known', { outcome: { status: 'raised' } }, /: it raised an exception$/u],
    ['timed out', { outcome: { status: 'timed-out', limit: 'wall', limitMs: 30_000 } }, /: it timed out after 30 s$/u],
    [
      'ran out of memory',
      { outcome: { status: 'out-of-memory', limitMb: 512 } },
      /: it ran out of memory: .* 512 MB$/u,
    ],
    [
      'crashed',
      { outcome: { status: 'crashed', signal: 'SIGSEGV', exitCode: null, reason: 'killed by SIGSEGV' } },
      /: it crashed: killed by SIGSEGV$/u,
    ],
    ['cancelled by somebody else', { outcome: { status: 'cancelled' } }, /: it was cancelled$/u],
  ])('it %s', async ([, answer, message]) => {
    const problem = await problemOf(answer);
    expect(problem).toMatch(/^the code could not be analyzed: /u);
    expect(problem).toMatch(message);
  });

  test.for<[string, unknown]>([
    ['no value', undefined],
    ['text that is not JSON', '{'],
    ['an array', []],
    ['a missing field', { ...FACTS, uses: undefined }],
    ['a further field', { ...FACTS, trust: true }],
    ['a negative line', { ...FACTS, imports: [{ name: 'os', line: -1 }] }],
    ['a line that is no number', { ...FACTS, imports: [{ name: 'os', line: '1' }] }],
    ['an unknown way of use', { ...FACTS, uses: [{ name: 'os', line: 1, how: 'eaten' }] }],
    ['an unknown kind of results', { ...FACTS, results: 'nice' }],
    ['a name of 401 characters', { ...FACTS, imports: [{ name: 'x'.repeat(401), line: 1 }] }],
    ['3001 uses', { ...FACTS, uses: repeated(3001, { name: 'x', line: 1, how: 'called' }) }],
    ['11 syntax errors', { ...FACTS, syntax: repeated(11, { line: 1, message: 'm' }) }],
    ['a message of 1001 characters', { ...FACTS, syntax: [{ line: 1, message: 'm'.repeat(1001) }] }],
  ])('the answer has %s', async ([, value]) => {
    const answer = value === undefined ? {} : { value: value as never };
    expect(await problemOf(answer)).toBe('the code could not be analyzed: the analyzer returned an invalid answer');
  });
});

test('the largest answer that fits is accepted', () => {
  const name = 'x'.repeat(400);
  const uses = repeated(3000, { name, line: null, how: 'stored', mode: 'w'.repeat(50) });
  expect(Facts.safeParse({ ...FACTS, uses, syntax: [{ line: 0, message: 'm'.repeat(1000) }] }).success).toBe(true);
});

test('code beyond 500,000 characters is refused without being looked at, and code of that length is not', async () => {
  const { examiner, asked } = examinerOf({ value: JSON.stringify(FACTS) });
  const facts = await examiner.examine('#'.repeat(500_001));
  expect(facts).toEqual(unanalyzable(null, 'the code is longer than 500000 characters'));
  expect(asked).toEqual([]);
  expect(await examiner.examine('#'.repeat(500_000))).toEqual(FACTS);
});

test('an aborted analysis throws the reason of the abort', async () => {
  const { examiner, asked } = examinerOf({ outcome: { status: 'cancelled' } });
  const { signal } = { signal: AbortSignal.abort(new Error('not needed')) };
  await expect(examiner.examine('x', { signal })).rejects.toThrow('not needed');
  expect(asked[0]?.options['signal']).toBe(signal);
});

test('the program makes a module of each source, in the given order', () => {
  const program = analysisProgram([
    { name: '_vivarium.payloads.analysis.a', source: 'x = "1\n2"' },
    { name: '_vivarium.payloads.analysis.b', source: '' },
  ]);
  const loads = program.split('\n').filter((line) => line.startsWith('load('));
  expect(loads).toHaveLength(2);
  expect(loads[0]).toContain('analysis.a');
  expect(loads[0]).not.toContain('\n2');
});

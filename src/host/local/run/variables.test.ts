/** The Python that sets variables, tried in a plain interpreter that has nothing of ours. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { Json } from '../../../execution/execution.ts';
import { assignments, contextAssignment } from './variables.ts';

/** What a plain Python prints, as JSON. */
function python(code: string, ask: string): unknown {
  const program = `${code}\nimport json, sys\nsys.stdout.write(json.dumps(${ask}))`;
  const said = execFileSync('python3', ['-I', '-'], {
    input: program,
    encoding: 'utf8',
    env: { PYTHONUTF8: '1', ...process.env },
  });
  return JSON.parse(said) as unknown;
}

const VALUES: Readonly<Record<string, Json>> = {
  nothing: null,
  yes: true,
  whole: 12345678901234,
  half: 0.5,
  negative: -1e-9,
  words: 'quotes \' " \'\'\' """ and \\ and \n and \u2028 and 🐍',
  lone: 'a \\ud800 that is only text',
  injection: '"); import os; os._exit(3); ("',
  list: [1, [2, [3, null]], {}],
  object: { 'a key': { __proto__x: 1 }, '': [] },
  größe: 1,
  _: 'underscore',
};

test('values arrive as they are', () => {
  expect(
    python(assignments(VALUES), '{name: globals()[name] for name in ' + JSON.stringify(Object.keys(VALUES)) + '}'),
  ).toEqual(VALUES);
});

test('no variables are no code', () => {
  expect(assignments({})).toBe('');
});

test('setting variables leaves no other name behind', () => {
  const code = `before = set(globals())\n${assignments({ x: [1], y: 'b' })}`;
  expect(python(code, 'sorted(set(globals()) - before - {"before", "json", "sys"})')).toEqual(['x', 'y']);
});

test.for(['', '1a', 'a b', 'a.b', 'a;b', 'a\nb', 'a-b', '*', 'a=1'])(
  '%j is refused as the name of a variable',
  (name) => {
    expect(() => assignments({ [name]: 1 })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('Python variable') as unknown,
      }),
    );
  },
);

test('context is read with dots and with keys, in an interpreter that has nothing of ours', async () => {
  const code = await contextAssignment({ WEATHER: { today: { degrees: 20, 'wind speed': [1, 2] } }, empty: {} });
  expect(
    python(
      code,
      '[context.WEATHER.today.degrees, context["WEATHER"]["today"]["wind speed"][1], "Context" in globals()]',
    ),
  ).toEqual([20, 2, false]);
});

test('a name that the context lacks is told with the names that it has', async () => {
  const code = await contextAssignment({ WEATHER: { today: 1 } });
  const asking = `${code}\ntry:\n    context.WEATHER.tomorrow\nexcept AttributeError as error:\n    said = str(error)`;
  expect(python(asking, 'said')).toBe("context.WEATHER has no 'tomorrow'; it has: today");
});

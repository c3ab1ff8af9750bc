import { expect, test } from 'vitest';
import { foldTraceback, hideHostPaths } from './traceback.ts';

const HEADER = 'Traceback (most recent call last):';
const own = (line: number, mark = ''): string =>
  `${mark}  File "<cell 1>", line ${line}, in <module>\n${mark}    call()\n${mark}    ~~~~^^`;
const library = (file: string, mark = ''): string =>
  `${mark}  File "<python>/lib/python3.13/site-packages/${file}", line 7, in inner\n${mark}    return 1`;

test.for([
  ['/opt/data/env/lib/python3.13/site-packages/pandas/core/frame.py:7: W', '<python>/pandas/core/frame.py:7: W'],
  ['<python>/lib/python3.13/json/decoder.py', '<python>/json/decoder.py'],
  ['/usr/lib/python3/dist-packages/yaml/__init__.py', '<python>/yaml/__init__.py'],
  ['~/env/lib64/python3.10/site-packages/a.py', '<python>/a.py'],
  ['"/a/lib/python3.12/b.py", "/c/lib/python3.12/d.py"', '"<python>/b.py", "<python>/d.py"'],
  ['<python>/lib/python3.13/x.py', '<python>/x.py'],
  ['/srv/vivarium/python/_vivarium/cell/runner.py:66: W', '<python>/_vivarium/cell/runner.py:66: W'],
  ['File "/srv/data/sessions/51-f7/51-f7.1-3/workspace/a/b.py", line 2', 'File "a/b.py", line 2'],
  ['https://example.com/lib/python3.12/x.py', 'https://example.com/lib/python3.12/x.py'],
  ['/workspace/lib/helper.py and lib/python3.12/x', '/workspace/lib/helper.py and lib/python3.12/x'],
] as const)('a file of a library does not say where Python is: %s', ([text, hidden]) => {
  expect(hideHostPaths(text)).toBe(hidden);
});

test('frames of libraries that follow each other are counted in one line, those of the program stay', () => {
  const frames = [own(3), library('pandas/a.py'), library('pandas/b.py'), library('numpy/c.py'), own(9)];
  expect(foldTraceback([HEADER, ...frames, 'ValueError: no', ''].join('\n'))).toBe(
    [HEADER, own(3), '  … 3 frames in pandas, numpy', own(9), 'ValueError: no', ''].join('\n'),
  );
});

test.for([
  ['<frozen importlib._bootstrap>', 'f', 'importlib'],
  ['pandas/_libs/index.pyx', 'pandas._libs.index.get_loc', 'pandas'],
  ['index.pyx', 'pandas._libs.index.get_loc', 'pandas'],
  ['/usr/lib/python3.13/socket.py', 'connect', 'socket'],
  ['/srv/env/lib/python3.13/lib-dynload/_x.py', 'f', '_x'],
] as const)('code of %s belongs to a library', ([file, where, name]) => {
  expect(foldTraceback(`  File "${file}", line 1, in ${where}\nE`)).toBe(`  … 1 frame in ${name}\nE`);
});

test.for(['<cell 3>', '/workspace/helper.py', '<string>', '/mnt/shared/lib/tool.py'])(
  'code of %s belongs to the program',
  (file) => {
    const text = `  File "${file}", line 1, in f\n    return 1\nE`;
    expect(foldTraceback(text)).toBe(text);
  },
);

test('frames that Python itself has folded are counted', () => {
  const frames = `${library('json/a.py')}\n  [Previous line repeated 96 more times]`;
  expect(foldTraceback(`${HEADER}\n${own(1)}\n${frames}\nE`)).toBe(`${HEADER}\n${own(1)}\n  … 97 frames in json\nE`);
});

test('the place of a syntax error is no frame', () => {
  const text = '  File "<python>/lib/python3.13/a.py", line 2\n    x = = 1\n        ^\nSyntaxError: invalid syntax';
  expect(foldTraceback(text)).toBe(text);
});

test('frames within a group of exceptions are folded too', () => {
  const text = `  + Exception Group ${HEADER}\n${own(1, '  | ')}\n${library('asyncio/a.py', '  | ')}\n  | ExceptionGroup: x`;
  expect(foldTraceback(text)).toBe(
    `  + Exception Group ${HEADER}\n${own(1, '  | ')}\n  |   … 1 frame in asyncio\n  | ExceptionGroup: x`,
  );
});

test('frames as IPython writes them are folded', () => {
  const cell = 'Cell In[1], line 2\n----> 2 json.loads("{")';
  const frame = (name: string): string => `File /usr/lib/python3.11/json/${name}.py:3, in f(s)\n      2 x\n----> 3 y`;
  expect(foldTraceback(`${cell}\n\n${frame('a')}\n\n${frame('b')}\n\nJSONDecodeError: no`)).toBe(
    `${cell}\n\n  … 2 frames in json\n\nJSONDecodeError: no`,
  );
});

const CAUSE = '\n\nThe above exception was the direct cause of the following exception:\n\n';

test('an exception within a library is dropped if the next one repeats what it says', () => {
  const inner = `${HEADER}\n${library('pandas/a.py')}\nKeyError: 'prise'`;
  const outer = `${HEADER}\n${own(1)}\nKeyError: 'prise'\n`;
  expect(foldTraceback(inner + CAUSE + outer)).toBe(outer);
});

test('an exception that says something else, or that came of the program, stays', () => {
  const inner = `${HEADER}\n${library('pandas/a.py')}\nKeyError: 'other'`;
  const outer = `${HEADER}\n${own(1)}\nKeyError: 'prise'\n`;
  const folded = `${HEADER}\n  … 1 frame in pandas\nKeyError: 'other'`;
  expect(foldTraceback(inner + CAUSE + outer)).toBe(folded + CAUSE + outer);
  const mine = `${HEADER}\n${own(1)}\nKeyError: 'prise'`;
  expect(foldTraceback(mine + CAUSE + outer)).toBe(mine + CAUSE + outer);
});

test('any text takes linear time', () => {
  const before = process.cpuUsage();
  for (const part of ['/', '/a', ' /', '  File "a", line 1, in f\n', `${library('a/b.py')}\n`, CAUSE]) {
    hideHostPaths(foldTraceback(part.repeat(20_000)));
  }
  expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
});

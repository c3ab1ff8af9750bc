import { expect, test } from 'vitest';
import { settle, settleAll } from './settled.ts';

test.for([
  ['plain\ntext\n', 'plain\ntext\n'],
  ['\r 10%\r 50%\r100%\ndone', '100%\ndone'],
  [' 10%\r 50%\r100%\r', '100%'],
  ['a long state\rshort\n', 'short\n'],
  ['one\r\ntwo\r\n', 'one\ntwo\n'],
  ['12\b3', '13'],
  ['\u001B[32m\r 10%\u001B[0m\u001B[32m\r100%\u001B[0m', '100%'],
  ['bar\r   \r', ''],
  ['\r\u001B[2Kone\r\u001B[2Ktwo', 'two'],
] as const)('text is what a terminal would show in the end: %j', ([text, shown]) => {
  expect(settle(text)).toBe(shown);
});

test('bars one below the other are each shown in their last state', () => {
  const states = [1, 2, 3].map((n) => `\router ${n}/3\n\rinner ${n}/3\u001B[A`);
  expect(settle(`${states.join('')}\n\n`)).toBe('outer 3/3\ninner 3/3\n');
  expect(settle('one\ntwo\nthree\n\u001B[99A\rfirst')).toBe('first\ntwo\nthree\n');
});

test('a bar that goes on after something else is shown once, where it ended', () => {
  expect(settleAll(['start\n\r 10%', '\r 50%', '\r100%\n'])).toEqual(['start\n', '', '100%\n']);
  expect(settleAll([' 10%\r', ' 50%\r', 'done\n'])).toEqual(['', '', 'done\n']);
});

test('a line that nothing is written over stays where it is', () => {
  expect(settleAll(['100%', '\n', '\rnext'])).toEqual(['100%', '\n', 'next']);
  expect(settleAll(['a', 'b\r\n', '\r\nc'])).toEqual(['a', 'b\n', '\nc']);
  expect(settleAll(['whole line\n', '\rother'])).toEqual(['whole line\n', 'other']);
});

test('any text takes linear time', () => {
  const before = process.cpuUsage();
  for (const part of ['\r', '\n\u001B[A', 'x\r', '\u001B[999A\n', '\b']) settle(part.repeat(200_000));
  expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
});

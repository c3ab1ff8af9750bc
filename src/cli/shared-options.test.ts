import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addMachineOptions, addSessionOptions, append, parseCount } from './shared-options.ts';

function parse(args: readonly string[]): Record<string, unknown> {
  const command = addSessionOptions(new Command('run'))
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  return command.parse(args, { from: 'user' }).opts();
}

test.for([
  ['0', 0],
  ['1', 1],
  ['60000', 60_000],
  ['007', 7],
] as const)('%j is a count', ([text, count]) => {
  expect(parseCount(text)).toBe(count);
});

test.for(['', ' ', '-1', '+1', '1.5', '1e3', '0x10', '1_000', '1000ms', ' 5', '٣', 'Infinity', 'soon'])(
  '%j is not a count',
  (text) => {
    expect(() => parseCount(text)).toThrow('It must be a whole number.');
  },
);

test('a repeatable option collects its values in order', () => {
  expect(append('a')).toEqual(['a']);
  const given = ['a'];
  expect(append('b', given)).toEqual(['a', 'b']);
  expect(given).toEqual(['a']);
});

test('a session has no settings unless they are given', () => {
  expect(parse([])).toEqual({});
});

test('all settings of a session', () => {
  const args = ['--timeout-ms', '5', '--memory-mb', '6', '--mount', 'a:/a', '--allow-network', '--mount', 'b:/b:rw'];
  expect(parse([...args, '--python', 'python3', '--isolation', 'landlock'])).toEqual({
    timeoutMs: 5,
    memoryMb: 6,
    mount: ['a:/a', 'b:/b:rw'],
    allowNetwork: true,
    python: 'python3',
    isolation: 'landlock',
  });
});

test.for([
  [['--isolation', 'paper'], 'commander.invalidArgument'],
  [['--timeout-ms', 'soon'], 'commander.invalidArgument'],
  [['--memory-mb', '-5'], 'commander.invalidArgument'],
  [['--timeout-ms'], 'commander.optionMissingArgument'],
  [['--no-such'], 'commander.unknownOption'],
] as const)('%j is refused', ([args, code]) => {
  expect(() => parse(args)).toThrow(expect.objectContaining({ code }));
});

test('a command that opens no session of its own has no limits', () => {
  const command = addMachineOptions(new Command('doctor'));
  expect(command.options.map(({ long }) => long)).toEqual(['--python', '--environment', '--isolation']);
});

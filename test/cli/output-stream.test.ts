/** What reaches a terminal or a pipe, and when a writer has to wait. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { OutputStream } from '../../src/cli/terminal/output-stream.ts';
import { Screen } from '../support/command-context.ts';

const RED = '\u001B[31m';
const RESET = '\u001B[0m';

function open(screen: Screen): OutputStream {
  return new OutputStream(screen.stream, () => {});
}

describe('A new line', () => {
  test.for([
    ['after a line', ['one\n'], 'one\n'],
    ['after half a line', ['one'], 'one\n'],
    ['after nothing', [], ''],
    ['after an empty text that follows half a line', ['one', ''], 'one\n'],
    ['after an empty text that follows a line', ['one\n', ''], 'one\n'],
    ['after a style that follows a line', [`${RED}one\n`, RESET], `${RED}one\n${RESET}`],
    ['after a line and a style in one text', [`${RED}one\n${RESET}`], `${RED}one\n${RESET}`],
    [
      'after several styles',
      ['one\n\u001B[1m', '\u001B[38;5;200m\u001B[4:3m'],
      'one\n\u001B[1m\u001B[38;5;200m\u001B[4:3m',
    ],
    ['after a style that follows half a line', ['one', RESET], `one${RESET}\n`],
    ['after a style and text', ['one\n', `${RED}two`], `one\n${RED}two\n`],
    ['after a style at the very beginning', [RED], RED],
    ['after two lines and a half', ['one\ntwo\nthree'], 'one\ntwo\nthree\n'],
    ['after a carriage return', ['10%\r'], '10%\r\n'],
  ] as const)('%s', async ([, texts, shown]) => {
    const screen = new Screen({ isTerminal: true });
    const output = open(screen);
    for (const text of texts) await output.write(text);
    await output.endLine();
    expect(screen.text).toBe(shown);
    await output.endLine();
    expect(screen.text).toBe(shown);
  });

  test('is not needed after the end of coloured text of a program', async () => {
    const screen = new Screen({ isTerminal: true });
    const output = open(screen);
    await output.relay(`${RED}37.4\n`);
    await output.endRelay();
    await output.endLine();
    expect(screen.text).toBe(`${RED}37.4\n${RESET}`);
  });
});

describe('Text of a program', () => {
  const HOSTILE = `${RED}red\u001B[2J\u001B]0;title\u0007\u009B5n\r\n`;

  test('reaches a pipe unchanged', async () => {
    const screen = new Screen();
    const output = open(screen);
    await output.relay(HOSTILE);
    await output.endRelay();
    expect(screen.text).toBe(HOSTILE);
  });

  test('gives a terminal its colours and no orders, and its colours end with it', async () => {
    const screen = new Screen({ isTerminal: true });
    const output = open(screen);
    await output.relay(HOSTILE);
    await output.endRelay();
    expect(screen.text).toBe(`${RED}red\\u{1b}[2J\\u{1b}]0;title\\u{7}\\u{9b}5n\r\n${RESET}`);
  });

  test('keeps a colour that is split between two pieces', async () => {
    const screen = new Screen({ isTerminal: true });
    const output = open(screen);
    await output.relay('a\u001B[3');
    expect(screen.text).toBe('a');
    await output.relay('1mb');
    await output.endRelay();
    expect(screen.text).toBe(`a${RED}b${RESET}`);
  });

  test('is not held back for ever when it ends within a sequence', async () => {
    const screen = new Screen({ isTerminal: true });
    const output = open(screen);
    await output.relay('a\u001B[3');
    await output.endRelay();
    expect(screen.text).toBe('a\\u{1b}[3');
    await output.endRelay();
    expect(screen.text).toBe('a\\u{1b}[3');
  });

  test('that was never there needs no end', async () => {
    const screen = new Screen({ isTerminal: true });
    await open(screen).endRelay();
    expect(screen.text).toBe('');
  });
});

describe('A slow reader', () => {
  test('is waited for', async () => {
    const screen = new Screen({ highWaterMark: 4 });
    let release = (): void => {};
    screen.hold = (done) => (release = done);
    const output = open(screen);
    let isDone = false;
    const written = output.write('more than four').then(() => (isDone = true));
    await Promise.resolve();
    expect(isDone).toBe(false);
    release();
    await written;
    expect(screen.text).toBe('more than four');
  });

  test('gets everything before a flush resolves', async () => {
    const screen = new Screen();
    const releases: (() => void)[] = [];
    screen.hold = (done) => releases.push(done);
    const output = open(screen);
    await output.write('one');
    await output.write('two');
    const flushed = output.flush();
    screen.hold = undefined;
    releases.shift()?.();
    await flushed;
    expect(screen.text).toBe('onetwo');
  });

  test('need not be waited for when nothing is left to write', async () => {
    const screen = new Screen();
    const output = open(screen);
    await output.write('one');
    await output.flush();
    expect(screen.writes).toBe(1);
  });
});

describe('A reader that has gone', () => {
  test('is reported, and what is written later is discarded without waiting', async () => {
    const screen = new Screen({ highWaterMark: 1 });
    const onGone = vi.fn<() => void>();
    const output = new OutputStream(screen.stream, onGone);
    screen.stream.emit('error', new Error('EPIPE'));
    expect(onGone).toHaveBeenCalledTimes(1);
    await output.write('nobody reads this');
    await output.flush();
    expect(screen.text).toBe('');
  });

  test('ends the wait of a writer', async () => {
    const screen = new Screen({ highWaterMark: 1 });
    screen.hold = () => {}; // never goes on
    const output = open(screen);
    const written = output.write('nobody reads this');
    screen.stream.destroy(new Error('EPIPE'));
    await written;
    await output.write('nor this');
    expect(screen.text).toBe('nobody reads this');
  });
});

describe('The size', () => {
  test.for([
    ['a pipe', { isTerminal: false }, undefined],
    ['a pipe with a size', { isTerminal: false, columns: 120 }, undefined],
    ['a terminal', { isTerminal: true, columns: 120 }, 120],
    ['a terminal that does not know it', { isTerminal: true }, 80],
    ['a terminal that says 0', { isTerminal: true, columns: 0 }, 80],
  ] as const)('of %s', ([, options, columns]) => {
    expect(open(new Screen(options)).columns).toBe(columns);
  });

  test('of a canvas is always there', () => {
    const unknown = new Screen({ isTerminal: true });
    expect(open(unknown).canvas).toBe(unknown.stream);
    expect(unknown.stream).toMatchObject({ columns: 80, rows: 24 });
    const known = new Screen({ isTerminal: true, columns: 132 });
    expect(open(known).canvas).toMatchObject({ columns: 132, rows: 24 });
  });
});

describe('Style', () => {
  beforeEach(() => {
    vi.stubEnv('FORCE_COLOR', undefined);
    vi.stubEnv('NO_COLOR', undefined);
    vi.stubEnv('NODE_DISABLE_COLORS', undefined);
    return () => vi.unstubAllEnvs();
  });

  test('is for terminals', () => {
    expect(open(new Screen({ isTerminal: true })).style('red', 'error:')).toBe('\u001B[31merror:\u001B[39m');
    expect(open(new Screen()).style('red', 'error:')).toBe('error:');
  });
});

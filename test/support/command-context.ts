/** The process that a command runs in, with streams that a test types into and reads. */
import { PassThrough, Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import type { Context } from '../../src/cli/terminal/context.ts';
import { Lifetime } from '../../src/cli/terminal/lifetime.ts';
import { OutputStream } from '../../src/cli/terminal/output-stream.ts';

export interface ScreenOptions {
  readonly isTerminal?: boolean;
  readonly columns?: number | undefined;
  readonly highWaterMark?: number;
}

/** Standard output or standard error, as a pipe or a terminal. */
export class Screen {
  /** Everything that was written. */
  text = '';
  /** How many chunks arrived. */
  writes = 0;
  /** Set to make the reader slow: it goes on when the function that it is given is called. */
  hold: ((release: () => void) => void) | undefined;
  readonly stream: WriteStream;
  #wake: () => void = () => {};
  #seen = 0;

  constructor({ isTerminal = false, columns, highWaterMark = 65_536 }: ScreenOptions = {}) {
    const sink = new Writable({
      highWaterMark,
      decodeStrings: false,
      write: (chunk, _, done) => {
        this.text += String(chunk);
        this.writes += 1;
        this.#wake();
        if (this.hold) this.hold(done);
        else done();
      },
    });
    const size = columns === undefined ? {} : { columns, rows: 24 };
    this.stream = Object.assign(sink, { isTTY: isTerminal, ...size }) as unknown as WriteStream;
  }

  /** Without colours and cursor movements. */
  get plain(): string {
    return stripVTControlCharacters(this.text);
  }

  /** Waits for words after those that were waited for before. */
  async until(words: string): Promise<void> {
    while (!this.plain.includes(words, this.#seen)) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#seen = this.plain.indexOf(words, this.#seen) + words.length;
  }
}

export interface ContextOptions extends ScreenOptions {
  readonly environment?: NodeJS.ProcessEnv;
  /** What standard input holds. At a terminal, `keyboard` types. */
  readonly input?: string;
}

export class CommandContext implements Context {
  readonly environment: NodeJS.ProcessEnv;
  readonly lifetime = new Lifetime();
  readonly out: Screen;
  readonly err: Screen;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly keyboard = new PassThrough();
  readonly stdin: NodeJS.ReadStream;

  constructor({ environment = {}, input, ...screen }: ContextOptions = {}) {
    this.environment = environment;
    this.out = new Screen(screen);
    this.err = new Screen(screen);
    this.stdout = new OutputStream(this.out.stream, () => this.lifetime.receive('SIGPIPE'));
    this.stderr = new OutputStream(this.err.stream, () => {});
    const keyboard = Object.assign(this.keyboard, { isTTY: screen.isTerminal ?? false, setRawMode: () => keyboard });
    this.stdin = keyboard as unknown as NodeJS.ReadStream;
    if (input !== undefined) this.keyboard.end(input);
  }
}

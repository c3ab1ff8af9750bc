import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Session } from '../../host/session.ts';
import { dataDirOf, type SessionFlags } from '../session/flags.ts';
import type { Context } from '../terminal/context.ts';
import { CellReader } from './cell-reader.ts';
import { COMMANDS, type CellRunner } from './cell-runner.ts';
import { Completer, type LineCompletion } from './completer.ts';
import { LineHistory } from './line-history.ts';

const FIRST_PROMPT = '>>> ';
const NEXT_PROMPT = '... ';
const HISTORY_LINES = 1000;

type TabAnswer = (error: null, found: LineCompletion) => void;

interface Surroundings {
  readonly flags: SessionFlags;
  readonly context: Context;
}

/** Asks a person at a terminal for cells, and runs them. */
export class CellPrompt {
  readonly #cells: CellRunner;
  readonly #session: Session;
  readonly #context: Context;
  readonly #reader = new CellReader({ blankLineEndsBlock: true });
  readonly #history: LineHistory;
  readonly #editor: Interface;
  #isOpen = true;
  #hasPrompt = false;

  constructor(cells: CellRunner, session: Session, { flags, context }: Surroundings) {
    this.#cells = cells;
    this.#session = session;
    this.#context = context;
    this.#history = new LineHistory(path.join(dataDirOf(flags, context.environment), 'repl-history'));
    this.#editor = this.#openEditor();
    this.#editor.once('close', () => this.#onClose());
    this.#editor.on('SIGINT', () => this.#interrupt()); // Ctrl-C as a key; other processes send the signal
  }

  /** Goes on until the person leaves. What was typed before Ctrl-D is still run. */
  async run(pythonVersion: string): Promise<void> {
    const { stdout, lifetime } = this.#context;
    using _ = lifetime.handleInterrupts(() => this.#interrupt());
    await stdout.line(
      `Python ${pythonVersion}, isolation: ${this.#session.isolation.level}. Type %help for help, Ctrl-D to leave.`,
    );
    await this.#prompt();
    for await (const line of this.#editor) {
      this.#hasPrompt = false;
      this.#history.add(line);
      for (const cell of this.#reader.add(line)) await this.#cells.run(cell);
      await this.#prompt();
    }
    if (this.#hasPrompt) await stdout.write('\n'); // ends its line
  }

  #openEditor(): Interface {
    const { stdin, stdout, lifetime } = this.#context;
    const completer = new Completer({
      session: this.#session,
      commands: COMMANDS,
      cellWith: (line) => this.#reader.textWith(line),
      isRunning: () => this.#cells.isRunning,
    });
    const onTab = (line: string, answer: TabAnswer): void => {
      const found = completer.complete(line);
      if (found instanceof Promise) void found.then((later) => this.#answerTab(line, later, answer));
      else answer(null, found);
    };
    return createInterface({
      input: stdin,
      output: stdout.stream,
      history: this.#history.load(),
      historySize: HISTORY_LINES,
      completer: onTab,
      signal: lifetime.signal,
    });
  }

  /** If the line has changed meanwhile, what was found does not fit any more. */
  #answerTab(line: string, found: LineCompletion, answer: TabAnswer): void {
    if (!this.#isOpen) return;
    const { line: present, cursor } = this.#editor;
    answer(null, present.slice(0, cursor) === line ? found : [[], line]);
  }

  async #prompt(): Promise<void> {
    const { stdout, stderr } = this.#context;
    await stdout.endLine();
    await stderr.endLine();
    if (!this.#isOpen) return; // Ctrl-D came while the cell ran
    this.#editor.setPrompt(this.#reader.isPending ? NEXT_PROMPT : FIRST_PROMPT);
    this.#editor.prompt();
    this.#hasPrompt = true;
  }

  /** A cell that runs is not lost: its answer still comes, as at a terminal that Python itself reads from. */
  #onClose(): void {
    this.#isOpen = false;
    const isAsked = !this.#context.lifetime.signal.aborted;
    if (isAsked && this.#cells.isRunning) void this.#cells.notice('leaving after this cell; Ctrl-C stops it');
  }

  #interrupt(): void {
    if (this.#cells.isRunning) this.#cells.interrupt();
    else if (this.#isOpen) this.#clearLine();
  }

  /** Drops what was typed of a cell. */
  #clearLine(): void {
    this.#reader.clear();
    this.#editor.write(null, { ctrl: true, name: 'e' });
    this.#editor.write(null, { ctrl: true, name: 'u' });
    this.#editor.setPrompt(`\n${FIRST_PROMPT}`);
    this.#editor.prompt();
    this.#editor.setPrompt(FIRST_PROMPT);
  }
}

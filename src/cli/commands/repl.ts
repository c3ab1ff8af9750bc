import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { VivariumError } from '../../errors.ts';
import { describeState } from '../../execution/description.ts';
import type { Summary } from '../../execution/event.ts';
import type { Session } from '../../host/session.ts';
import { inLine, makeVisible } from '../../text/visible.ts';
import { CellReader } from '../repl/cell-reader.ts';
import { LineHistory } from '../repl/line-history.ts';
import { dataDirOf, type SessionFlags } from '../session/flags.ts';
import { openSession, type OpenedSession } from '../session/open.ts';
import { showRun } from '../session/show.ts';
import type { Context } from '../terminal/context.ts';
import { describeEnd, reportError } from '../terminal/failure.ts';
import { alignColumns } from '../terminal/table.ts';

/** Reads cells from a terminal or a pipe and runs them in one session. */
export async function repl(flags: SessionFlags, context: Context): Promise<number> {
  await using opened = await openSession(flags, { runsOnce: false, keepsFiles: false }, context);
  const cells = new CellRunner(opened.session, context);
  if (context.stdin.isTTY && context.stdout.isTerminal) await converse(cells, { opened, flags }, context);
  else await runScript(cells, context);
  return 0;
}

/** Runs the cells of a script one after the other. An error ends its cell, not the script. */
async function runScript(cells: CellRunner, { stdin, lifetime }: Context): Promise<void> {
  const reader = new CellReader({ blankLineEndsBlock: false });
  const lines = createInterface({ input: stdin, terminal: false, signal: lifetime.signal });
  for await (const line of lines) {
    for (const cell of reader.add(line)) await cells.run(cell);
  }
  if (lifetime.signal.aborted) return;
  for (const cell of reader.finish()) await cells.run(cell);
}

const FIRST_PROMPT = '>>> ';
const NEXT_PROMPT = '... ';

async function converse(
  cells: CellRunner,
  { opened, flags }: { readonly opened: OpenedSession; readonly flags: SessionFlags },
  context: Context,
): Promise<void> {
  const { stdin, stdout, lifetime } = context;
  const reader = new CellReader({ blankLineEndsBlock: true });
  const history = new LineHistory(path.join(dataDirOf(flags, context.environment), 'repl-history'));
  const editor = createInterface({
    input: stdin,
    output: stdout.stream,
    history: history.load(),
    historySize: 1000,
    completer: (line: string) => [[`${line}    `], line], // Tab indents
    signal: lifetime.signal,
  });
  const clear = (): void => {
    reader.clear();
    clearLine(editor);
  };
  const interrupt = (): void => (cells.isRunning ? cells.interrupt() : clear());
  editor.on('SIGINT', interrupt); // Ctrl-C as a key; other processes send the signal
  using _ = lifetime.handleInterrupts(interrupt);
  const { host, session } = opened;
  await stdout.line(
    `Python ${host.environment.version}, isolation: ${session.isolation.level}. Type %help for help, Ctrl-D to leave.`,
  );
  await prompt(editor, reader, context);
  for await (const line of editor) {
    history.add(line);
    for (const cell of reader.add(line)) await cells.run(cell);
    await prompt(editor, reader, context);
  }
  await stdout.write('\n'); // ends the line of the last prompt
}

async function prompt(editor: Interface, reader: CellReader, { stdout, stderr }: Context): Promise<void> {
  await stdout.endLine();
  await stderr.endLine();
  editor.setPrompt(reader.isPending ? NEXT_PROMPT : FIRST_PROMPT);
  editor.prompt();
}

function clearLine(editor: Interface): void {
  editor.write(null, { ctrl: true, name: 'e' });
  editor.write(null, { ctrl: true, name: 'u' });
  editor.setPrompt(`\n${FIRST_PROMPT}`);
  editor.prompt();
  editor.setPrompt(FIRST_PROMPT);
}

/** Runs cells and tells the user what happened to the state of the session. */
class CellRunner {
  readonly #session: Session;
  readonly #context: Context;
  #unprotected: string | undefined;
  isRunning = false;

  constructor(session: Session, context: Context) {
    this.#session = session;
    this.#context = context;
  }

  async run(cell: string): Promise<void> {
    const command = /^%(vars|rollback|reset|help)\s*$/.exec(cell)?.[1];
    this.isRunning = true;
    try {
      if (command === undefined) await this.#runCode(cell);
      else await this.#runCommand(command);
    } catch (error) {
      if (!(error instanceof VivariumError) || this.#session.isClosed) throw error;
      await reportError(error, this.#context);
    } finally {
      this.isRunning = false;
    }
  }

  /** Stops the running cell and keeps the variables. */
  interrupt(): void {
    void this.#session.interrupt();
  }

  async #runCode(code: string): Promise<void> {
    const events = this.#session.stream(code, { signal: this.#context.lifetime.signal });
    await this.#explain(await showRun(events, this.#context));
  }

  async #explain({ outcome, error, state }: Summary): Promise<void> {
    const { stdout, stderr } = this.#context;
    if (stdout.isTerminal) await stdout.endLine();
    await stderr.endLine();
    if (error) await stderr.relay(`${error.traceback.trimEnd()}\n`);
    await stderr.endRelay();
    const end = describeEnd(outcome);
    if (end && !(error && outcome.status === 'cancelled')) await this.#notice(end);
    const notice = describeState(state);
    if (notice !== '') await this.#notice(notice);
    if (state.unprotected && state.unprotected !== this.#unprotected) {
      const remedy = state.remedy === undefined ? '' : `. ${state.remedy}`;
      await this.#notice(`if the next cell crashes, the variables will be lost: ${state.unprotected}${remedy}`);
    }
    this.#unprotected = state.unprotected;
  }

  async #runCommand(command: string): Promise<void> {
    const { stdout } = this.#context;
    switch (command) {
      case 'vars': {
        const variables = await this.#session.inspect();
        const rows = variables.map(({ name, type, description }) =>
          [name, type, description].map((words) => inLine(words)),
        );
        await stdout.relay(`${rows.length === 0 ? 'no variables' : alignColumns(rows)}\n`);
        await stdout.endRelay();
        break;
      }
      case 'rollback': {
        const { files } = await this.#session.rollback();
        await this.#notice(`the last cell that changed variables was undone; files: ${files}`);
        break;
      }
      case 'reset':
        await this.#session.reset();
        await this.#notice('the variables are gone, the files are still there');
        break;
      case 'help':
        await stdout.line(HELP);
    }
  }

  #notice(text: string): Promise<void> {
    const { stderr } = this.#context;
    return stderr.line(stderr.style('yellow', makeVisible(`vivarium: ${text}`)));
  }
}

const HELP = `%vars      list the variables
%rollback  undo the last cell that changed variables
%reset     start a fresh interpreter; the files stay
%help      show this help
A blank line ends a block. Ctrl-C interrupts the cell and keeps the variables. Ctrl-D leaves.
Files are in /workspace and are removed when you leave.`;

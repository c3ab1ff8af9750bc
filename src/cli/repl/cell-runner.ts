import { VivariumError } from '../../errors.ts';
import { describeState } from '../../execution/description.ts';
import type { Summary } from '../../execution/event.ts';
import type { Host } from '../../host/host.ts';
import type { Session } from '../../host/session.ts';
import { inLine } from '../../text/in-line.ts';
import { makeVisible } from '../../text/visible.ts';
import { tellMissingLibrary } from '../session/missing-library.ts';
import type { OpenedSession } from '../session/open.ts';
import { showRun } from '../session/show.ts';
import type { Context } from '../terminal/context.ts';
import { describeEnd, reportError } from '../terminal/failure.ts';
import { alignColumns } from '../terminal/table.ts';

/** What can be typed instead of Python, after a percent sign. */
export const COMMANDS = ['vars', 'rollback', 'reset', 'help'] as const;

/** Runs cells and tells the user what happened to the state of the session. */
export class CellRunner {
  readonly #host: Host;
  readonly #session: Session;
  readonly #context: Context;
  #unprotected: string | undefined;
  isRunning = false;

  constructor({ host, session }: OpenedSession, context: Context) {
    this.#host = host;
    this.#session = session;
    this.#context = context;
  }

  async run(cell: string): Promise<void> {
    const command = COMMANDS.find((name) => cell.trimEnd() === `%${name}`);
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
    await tellMissingLibrary(error, this.#host, this.#context);
    const end = describeEnd(outcome);
    if (end && !(error && outcome.status === 'cancelled')) await this.notice(end);
    const notice = describeState(state);
    if (notice !== '') await this.notice(notice);
    if (state.unprotected && state.unprotected !== this.#unprotected) {
      const remedy = state.remedy === undefined ? '' : `. ${state.remedy}`;
      await this.notice(`if the next cell crashes, the variables will be lost: ${state.unprotected}${remedy}`);
    }
    this.#unprotected = state.unprotected;
  }

  async #runCommand(command: (typeof COMMANDS)[number]): Promise<void> {
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
        await this.notice(`the last cell that changed variables was undone; files: ${files}`);
        break;
      }
      case 'reset':
        await this.#session.reset();
        await this.notice('the variables are gone, the files are still there');
        break;
      case 'help':
        await stdout.line(HELP);
    }
  }

  /** Tells the user something that is not output of the program. */
  notice(text: string): Promise<void> {
    const { stderr } = this.#context;
    return stderr.line(stderr.style('yellow', makeVisible(`vivarium: ${text}`)));
  }
}

const HELP = `%vars      list the variables
%rollback  undo the last cell that changed variables
%reset     start a fresh interpreter; the files stay
%help      show this help
A blank line ends a block. Tab completes names. Ctrl-C interrupts the cell and keeps the variables. Ctrl-D leaves.
Files are in /workspace and are removed when you leave.`;

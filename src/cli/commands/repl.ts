import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { EngineSession } from '../../engine/engine.ts';
import { VivariumError } from '../../errors.ts';
import { describeState } from '../../execution/description.ts';
import type { Summary } from '../../execution/event.ts';
import { CellReader } from '../cells.ts';
import type { Context } from '../context.ts';
import { describeEnd, reportError } from '../failure.ts';
import { History } from '../history.ts';
import type { SessionFlags } from '../options.ts';
import { openSession, show, type Opened } from '../session.ts';
import { alignColumns } from '../table.ts';

/** Reads cells from a terminal or a pipe and runs them in one session. */
export async function repl(flags: SessionFlags, context: Context): Promise<number> {
  await using opened = await openSession(flags, context, true);
  const cells = new Cells(opened, flags, context);
  if (context.stdin.isTTY && context.stdout.isTerminal) await converse(cells, opened, context);
  else await runScript(cells, context);
  return 0;
}

/** Runs what comes through a pipe, cell by cell; an error ends its cell, not the script. */
async function runScript(cells: Cells, { stdin, lifetime }: Context): Promise<void> {
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

async function converse(cells: Cells, { session, config, python }: Opened, context: Context): Promise<void> {
  const { stdin, stdout, lifetime } = context;
  const reader = new CellReader({ blankLineEndsBlock: true });
  const history = new History(path.join(config.dataDir, 'repl-history'));
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
  editor.on('SIGINT', interrupt); // the line editor sees the key, others send the signal
  using _ = lifetime.handleInterrupts(interrupt);
  await stdout.line(`Python ${python.version}, walls: ${session.isolation.level}. %help helps, Ctrl-D leaves.`);
  await ask(editor, reader, context);
  for await (const line of editor) {
    history.add(line);
    for (const cell of reader.add(line)) await cells.run(cell);
    await ask(editor, reader, context);
  }
  await stdout.write('\n'); // the prompt is still there
}

async function ask(editor: Interface, reader: CellReader, { stdout, stderr }: Context): Promise<void> {
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

/** Runs cells and says in words what became of the session's state. */
class Cells {
  readonly #session: EngineSession;
  readonly #flags: SessionFlags;
  readonly #timeoutMs: number;
  readonly #context: Context;
  #count = 0;
  #unprotected: string | undefined;
  isRunning = false;

  constructor({ session, config }: Opened, flags: SessionFlags, context: Context) {
    this.#session = session;
    this.#flags = flags;
    this.#timeoutMs = config.limits.timeoutMs;
    this.#context = context;
  }

  async run(cell: string): Promise<void> {
    const command = /^%(vars|rollback|reset|help)\s*$/.exec(cell)?.[1];
    this.isRunning = true;
    try {
      if (command === undefined) await this.#runCode(cell);
      else await this.#runCommand(command);
    } catch (error) {
      if (!(error instanceof VivariumError) || error.code === 'ENGINE_CLOSED') throw error;
      await reportError(error, this.#context);
    } finally {
      this.isRunning = false;
    }
  }

  /** Ends the cell that runs; its variables stay. */
  interrupt(): void {
    void this.#session.interrupt();
  }

  async #runCode(code: string): Promise<void> {
    this.#count += 1;
    const events = this.#session.stream({
      id: String(this.#count),
      code,
      echo: this.#flags.echo,
      timeoutMs: this.#timeoutMs,
      signal: this.#context.lifetime.signal,
    });
    await this.#explain(await show(events, this.#context));
  }

  async #explain({ outcome, error, state }: Summary): Promise<void> {
    const { stdout, stderr } = this.#context;
    if (stdout.isTerminal) await stdout.endLine();
    await stderr.endLine();
    if (error) await stderr.relay(`${error.traceback.trimEnd()}\n`);
    await stderr.endRelay();
    const end = describeEnd(outcome);
    if (end && !(error && outcome.status === 'cancelled')) await this.#notice(end);
    if (state.status !== 'preserved') await this.#notice(describeState(state));
    if (state.unprotected && state.unprotected !== this.#unprotected) {
      await this.#notice(`if the next cell crashes, the variables are lost: ${state.unprotected}`);
    }
    this.#unprotected = state.unprotected;
  }

  async #runCommand(command: string): Promise<void> {
    const { stdout } = this.#context;
    switch (command) {
      case 'vars': {
        const variables = await this.#session.inspect();
        const rows = variables.map(({ name, type, description }) => [name, type, description.split('\n')[0] ?? '']);
        await stdout.relay(`${rows.length === 0 ? 'no variables' : alignColumns(rows)}\n`);
        await stdout.endRelay();
        break;
      }
      case 'rollback': {
        const { files } = await this.#session.rollback();
        await this.#notice(`undid the last cell that changed variables; files: ${files}`);
        break;
      }
      case 'reset':
        await this.#session.reset();
        await this.#notice('this is a fresh interpreter; the files are still there');
        break;
      case 'help':
        await stdout.line(HELP);
    }
  }

  #notice(text: string): Promise<void> {
    const { stderr } = this.#context;
    return stderr.relay(`${stderr.style('yellow', `vivarium: ${text}`)}\n`);
  }
}

const HELP = `%vars      shows the variables
%rollback  undoes the last cell that changed variables
%reset     starts a fresh interpreter on the same files
%help      shows this
A blank line ends a block. Ctrl-C interrupts a cell and keeps the variables; Ctrl-D leaves.
Files are in /workspace and are removed at the end.`;

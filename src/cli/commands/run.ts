import { readdir, readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { EngineSession } from '../../engine/engine.ts';
import { VivariumError } from '../../errors.ts';
import type { Summary } from '../../execution/event.ts';
import type { Execution } from '../../execution/execution.ts';
import { visibleJson } from '../../text/visible.ts';
import type { Context } from '../context.ts';
import { describeEnd, exitCodeOf } from '../failure.ts';
import type { SessionFlags } from '../options.ts';
import { openSession, show } from '../session.ts';

export interface RunFlags extends SessionFlags {
  readonly code?: string;
  readonly json?: boolean;
  readonly outputDir?: string;
}

const MAX_NAMED = 5;

/** Runs one program in a session of its own. */
export async function run(file: string | undefined, flags: RunFlags, context: Context): Promise<number> {
  const program = await readProgram(file, flags, context);
  const keepsAll = flags.json === true || flags.outputDir !== undefined;
  const loading = keepsAll ? import('../kept-run.ts') : undefined; // while Python starts
  await using opened = await openSession(flags, context, false);
  if (loading !== undefined) {
    const { runKept } = await loading;
    const execution = await runKept({ opened, program, flags }, context);
    if (flags.json) await printJson(execution, context);
    else await explain(execution, context);
    return exitCodeOf(execution.outcome, execution.error);
  }
  const { session, config } = opened;
  const events = session.stream({
    id: crypto.randomUUID(), // the module of that name is slow to load, and has been by now
    code: program.code,
    filename: program.name,
    echo: flags.echo,
    timeoutMs: config.limits.timeoutMs,
    signal: context.lifetime.signal,
  });
  const summary = await show(events, context);
  await explain(summary, context);
  if (context.stderr.isTerminal) await mournFiles(session, context);
  return exitCodeOf(summary.outcome, summary.error);
}

/** The same document, without anything in it that a terminal would take for an order. */
async function printJson(execution: Execution, { stdout }: Context): Promise<void> {
  await stdout.line(stdout.isTerminal ? visibleJson(execution, 2) : JSON.stringify(execution, undefined, 2));
}

interface Program {
  /** As Python would call it in a traceback. */
  readonly name: string;
  readonly code: string;
}

async function readProgram(file: string | undefined, { code }: RunFlags, { stdin }: Context): Promise<Program> {
  if (code !== undefined) {
    if (file !== undefined) throw new VivariumError('USAGE', `Give either a file or -c, not both (${file}).`);
    return { name: '<string>', code };
  }
  if (file === undefined) throw new VivariumError('USAGE', 'There is nothing to run. Give a file, - or -c CODE.');
  if (file === '-') return { name: '<stdin>', code: await text(stdin) };
  try {
    return { name: file, code: await readFile(file, 'utf8') };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new VivariumError('USAGE', `${file} cannot be read: ${why}. Check the path.`, { cause: error });
  }
}

async function explain({ outcome, error }: Pick<Summary, 'outcome' | 'error'>, context: Context): Promise<void> {
  const { stderr, lifetime } = context;
  if (lifetime.isReaderGone) return;
  if (error?.name === 'SystemExit' && outcome.status === 'raised') {
    // As in Python: a number is for the shell, anything else for people.
    if (!/^-?\d+$/.test(error.value)) await stderr.relay(`${error.value}\n`);
  } else {
    if (error) await stderr.relay(error.traceback.endsWith('\n') ? error.traceback : `${error.traceback}\n`);
    const end = describeEnd(outcome);
    if (end && !(error && outcome.status === 'cancelled')) await stderr.relay(`vivarium: ${end}\n`);
  }
  await stderr.endRelay();
}

/** Somebody who sits there may not know that files go with the session. */
async function mournFiles({ workspace }: EngineSession, { stderr }: Context): Promise<void> {
  const names = await readdir(workspace.location).catch(() => []);
  if (names.length === 0) return;
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  await stderr.endLine();
  await stderr.relay(
    `vivarium: ${names.slice(0, MAX_NAMED).join(', ')}${more}: gone with the session; --output-dir keeps files\n`,
  );
  await stderr.endRelay();
}

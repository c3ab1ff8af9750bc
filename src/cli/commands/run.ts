import type { Summary } from '../../execution/event.ts';
import type { Execution } from '../../execution/execution.ts';
import { Transcript } from '../../execution/transcript.ts';
import type { RunOptions } from '../../host/options.ts';
import { visibleJson } from '../../text/visible.ts';
import type { SessionFlags } from '../session/flags.ts';
import { tellMissingLibrary } from '../session/missing-library.ts';
import { openSession, type OpenedSession } from '../session/open.ts';
import { readInput, readProgram } from '../session/program.ts';
import { Losses } from '../session/losses.ts';
import { showRun } from '../session/show.ts';
import type { Context } from '../terminal/context.ts';
import { describeEnd, exitCodeOf, notify } from '../terminal/failure.ts';

export interface RunFlags extends SessionFlags {
  readonly code?: string;
  readonly json?: boolean;
  readonly outputDir?: string;
  readonly overwrite?: boolean;
}

/** Runs one program in a session of its own. The operands are its file, unless there is `--code`, and its arguments. */
export async function run(operands: readonly string[], flags: RunFlags, context: Context): Promise<number> {
  const program = await readProgram(operands, flags.code, context);
  const { code, filename } = program;
  const keepsFiles = flags.json === true || flags.outputDir !== undefined;
  await using opened = await openSession(flags, { runsOnce: true, keepsFiles, program }, context);
  const { session } = opened;
  const stdin = await readInput(program, context);
  const options = { filename, signal: context.lifetime.signal, ...(stdin !== undefined && { stdin }) };
  if (keepsFiles) return await runAndKeep(code, { opened, options, flags }, context);
  const losses = await Losses.before(session, context);
  const summary = await showRun(session.stream(code, options), context, losses);
  await explain(summary, context);
  await tellMissingLibrary(summary.error, opened.host, context);
  if (!context.lifetime.isReaderGone) await losses.report(summary);
  return exitCodeOf(summary.outcome, summary.error);
}

interface KeptRun {
  readonly opened: OpenedSession;
  readonly options: RunOptions;
  readonly flags: RunFlags;
}

/** For `--json` and `--output-dir`, which need the whole result and the files. */
async function runAndKeep(code: string, { opened, options, flags }: KeptRun, context: Context): Promise<number> {
  const { session, host } = opened;
  const { json = false, outputDir, overwrite: overwrites = false } = flags;
  const transcript = new Transcript(host.limits.outputBytes);
  const execution = json
    ? await session.runCode(code, options)
    : await showRun(session.stream(code, options), context, transcript).then(() => transcript.execution());
  if (outputDir !== undefined) {
    const { OutputFolder } = await import('../session/output-folder.ts');
    const report = (words: string): Promise<void> => notify(words, context);
    const folder = new OutputFolder({ directory: outputDir, overwrites, artifacts: host.artifacts, report });
    await folder.addAll(execution);
  }
  if (json) await printJson(execution, context);
  else await explain(execution, context);
  if (!json) await tellMissingLibrary(execution.error, host, context);
  return exitCodeOf(execution.outcome, execution.error);
}

/** A terminal gets the same document with its control characters escaped. */
async function printJson(execution: Execution, { stdout }: Context): Promise<void> {
  await stdout.line(stdout.isTerminal ? visibleJson(execution, 2) : JSON.stringify(execution, undefined, 2));
}

async function explain(
  { outcome, error }: Pick<Summary, 'outcome' | 'error'>,
  { stderr, lifetime }: Context,
): Promise<void> {
  if (lifetime.isReaderGone) return;
  if (error?.name === 'SystemExit' && outcome.status === 'raised') {
    // As in Python: a number is the exit code, anything else is printed.
    if (!/^-?\d+$/.test(error.value)) await stderr.relay(`${error.value}\n`);
  } else {
    if (error) await stderr.relay(error.traceback.endsWith('\n') ? error.traceback : `${error.traceback}\n`);
    const end = describeEnd(outcome);
    if (end && !(error && outcome.status === 'cancelled')) await stderr.relay(`vivarium: ${end}\n`);
  }
  await stderr.endRelay();
}

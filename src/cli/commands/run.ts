import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { VivariumError } from '../../errors.ts';
import type { Summary } from '../../execution/event.ts';
import type { Execution } from '../../execution/execution.ts';
import { Transcript } from '../../execution/transcript.ts';
import type { RunOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import { visibleJson } from '../../text/visible.ts';
import type { SessionFlags } from '../session/flags.ts';
import { openSession, type OpenedSession } from '../session/open.ts';
import { showRun } from '../session/show.ts';
import type { Context } from '../terminal/context.ts';
import { describeEnd, exitCodeOf } from '../terminal/failure.ts';

export interface RunFlags extends SessionFlags {
  readonly code?: string;
  readonly json?: boolean;
  readonly outputDir?: string;
  readonly overwrite?: boolean;
}

const MAX_NAMED_FILES = 5;
const MAX_FILENAME_CHARS = 500;

/** Runs one program in a session of its own. */
export async function run(file: string | undefined, flags: RunFlags, context: Context): Promise<number> {
  const { code, filename } = await readProgram(file, flags, context);
  const keepsFiles = flags.json === true || flags.outputDir !== undefined;
  await using opened = await openSession(flags, { runsOnce: true, keepsFiles }, context);
  const { session } = opened;
  const options = { filename, signal: context.lifetime.signal };
  if (keepsFiles) return await runAndKeep(code, { opened, options, flags }, context);
  const summary = await showRun(session.stream(code, options), context);
  await explain(summary, context);
  if (context.stderr.isTerminal) await nameLostFiles(session, context);
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
  return exitCodeOf(execution.outcome, execution.error);
}

interface Program {
  readonly code: string;
  /** What Python calls it in a traceback. */
  readonly filename: string;
}

async function readProgram(file: string | undefined, { code }: RunFlags, { stdin }: Context): Promise<Program> {
  if (code !== undefined) {
    if (file !== undefined) throw new VivariumError('USAGE', `Give either a file or -c, not both (${file}).`);
    return { filename: '<string>', code };
  }
  if (file === undefined) throw new VivariumError('USAGE', 'There is nothing to run. Give a file, - or -c CODE.');
  if (file === '-') return { filename: '<stdin>', code: await text(stdin) };
  try {
    return { filename: filenameOf(file), code: await readFile(file, 'utf8') };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new VivariumError('USAGE', `Cannot read ${file}: ${why}. Check the path.`, { cause: error });
  }
}

/** A path may be longer than a `filename`, and may contain line breaks. */
function filenameOf(file: string): string {
  return file.replaceAll(/[\r\n\u2028\u2029\p{Cs}]/gu, '?').slice(-MAX_FILENAME_CHARS);
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

/** A person at a terminal may not know that the files are removed with the session. */
async function nameLostFiles(session: Session, context: Context): Promise<void> {
  const { files } = await session.files.list().catch(() => ({ files: [] })); // the notice is not worth an error
  const names = [...new Set(files.map(({ path: name }) => name.split('/')[0] ?? ''))];
  if (names.length === 0) return;
  const more = names.length > MAX_NAMED_FILES ? ` and ${names.length - MAX_NAMED_FILES} more` : '';
  const named = `${names.slice(0, MAX_NAMED_FILES).join(', ')}${more}`;
  await notify(`${named}: gone with the session; --output-dir keeps files`, context);
  await context.stderr.endRelay();
}

async function notify(words: string, { stderr }: Context): Promise<void> {
  await stderr.endLine();
  await stderr.relay(`vivarium: ${words}\n`);
}

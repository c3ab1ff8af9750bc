import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { VivariumError } from '../../errors.ts';
import { foldExecution } from '../../execution/fold.ts';
import type { Outcome, PythonError } from '../../execution/outcome.ts';
import type { Context } from '../context.ts';
import { describeEnd, exitCodeOf } from '../failure.ts';
import type { SessionFlags } from '../options.ts';
import { openSession, show } from '../session.ts';

export interface RunFlags extends SessionFlags {
  readonly code?: string;
  readonly json?: boolean;
}

/** Runs one program in a session of its own. */
export async function run(file: string | undefined, flags: RunFlags, context: Context): Promise<number> {
  const { stdout, lifetime } = context;
  const program = await readProgram(file, flags, context);
  await using opened = await openSession(flags, context, false);
  const { session, config } = opened;
  const events = session.stream({
    id: randomUUID(),
    code: program.code,
    filename: program.name,
    echo: flags.echo,
    timeoutMs: config.limits.timeoutMs,
    signal: lifetime.signal,
  });
  if (flags.json) {
    const execution = await foldExecution(events, config.limits.outputBytes);
    await stdout.line(JSON.stringify(execution, undefined, 2));
    return exitCodeOf(execution.outcome);
  }
  const { outcome, error } = await show(events, context);
  await explain(outcome, error, context);
  return exitCodeOf(outcome);
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

async function explain(outcome: Outcome, error: PythonError | undefined, context: Context): Promise<void> {
  const { stderr, lifetime } = context;
  if (lifetime.isReaderGone) return;
  if (error?.name === 'SystemExit' && outcome.status === 'raised') {
    // As in Python: a number is for the shell, anything else for people.
    if (!/^-?\d+$/.test(error.value)) await stderr.line(error.value);
    return;
  }
  if (error) await stderr.write(error.traceback.endsWith('\n') ? error.traceback : `${error.traceback}\n`);
  const end = describeEnd(outcome);
  if (end && !(error && outcome.status === 'cancelled')) await stderr.line(`vivarium: ${end}`);
}

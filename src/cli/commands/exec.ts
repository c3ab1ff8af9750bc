import { constants } from 'node:os';
import { VivariumError } from '../../errors.ts';
import type { Command, ExecResult } from '../../execution/command.ts';
import type { SessionFlags } from '../session/flags.ts';
import { openSession } from '../session/open.ts';
import type { Context } from '../terminal/context.ts';
import { notify } from '../terminal/failure.ts';

/** As of timeout(1). */
const EXIT_TIMED_OUT = 124;
/** A shell adds the number of the signal. */
const EXIT_SIGNALLED = 128;

/** Runs a command of the system in a session of its own, connected to our streams. */
export async function exec(argv: readonly string[], flags: SessionFlags, context: Context): Promise<number> {
  if (argv.length === 0) throw new VivariumError('USAGE', 'There is nothing to execute. Name a program.');
  await using opened = await openSession(flags, { runsOnce: true, keepsFiles: false }, context);
  const { stdout, stderr, lifetime, stdin } = context;
  const command = await opened.session.spawn(argv, {
    signal: lifetime.signal,
    onOutput: ({ stream, text }) => (stream === 'stdout' ? stdout : stderr).relay(text),
  });
  void pass(stdin, command).catch(() => command.closeInput()); // it cannot be read
  const result = await command.result;
  await stdout.endRelay();
  await stderr.endRelay();
  if (result.reason !== undefined && !lifetime.signal.aborted)
    await notify(`the command was ended: ${result.reason}`, context);
  return exitCodeOf(result);
}

/** The command gets what we get. Nobody waits for it: the command may end before its input does. */
async function pass(stdin: NodeJS.ReadStream, command: Command): Promise<void> {
  for await (const chunk of stdin as AsyncIterable<Buffer>) await command.write(chunk);
  command.closeInput();
}

function exitCodeOf({ exitCode, signal, timedOut }: ExecResult): number {
  if (timedOut) return EXIT_TIMED_OUT;
  const signals: Readonly<Record<string, number>> = constants.signals;
  return exitCode ?? EXIT_SIGNALLED + (signals[signal ?? ''] ?? 0);
}

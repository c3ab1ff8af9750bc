import { createInterface } from 'node:readline';
import { CellReader } from '../repl/cell-reader.ts';
import { CellRunner } from '../repl/cell-runner.ts';
import type { SessionFlags } from '../session/flags.ts';
import { openSession } from '../session/open.ts';
import type { Context } from '../terminal/context.ts';

/** Reads cells from a terminal or a pipe and runs them in one session. */
export async function repl(flags: SessionFlags, context: Context): Promise<number> {
  await using opened = await openSession(flags, { runsOnce: false, keepsFiles: false }, context);
  const { session } = opened;
  const cells = new CellRunner(opened, context);
  if (context.stdin.isTTY && context.stdout.isTerminal) {
    const { CellPrompt } = await import('../repl/cell-prompt.ts');
    await new CellPrompt(cells, session, { flags, context }).run(opened.host.environment.version);
  } else await runScript(cells, context);
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

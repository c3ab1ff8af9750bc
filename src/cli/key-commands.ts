/** Declares the commands about the keys of a server. Their code is loaded when they are used. */
import { InvalidArgumentError, type Command } from 'commander';
import { parseCount } from './shared-options.ts';
import type { Context } from './terminal/context.ts';

export function addKeyCommands(
  add: (name: string) => Command,
  context: Context,
  end: (exitCode: number) => void,
): void {
  const keys = add('keys')
    .description('Make the keys that clients of a server identify themselves with.')
    .addHelpText('after', KEYS_HELP);
  const addVerb = (name: string): Command =>
    keys.command(name).exitOverride().helpOption('-h, --help', 'print this help').allowExcessArguments(false);

  addVerb('add')
    .argument('<name>', 'who uses the key: letters, digits, ".", "_", "@" and "-"')
    .description('Make a key and print it. It is stored as a hash, so this is the only time that it can be seen.')
    .option('--admin', 'the key may see and do everything: sessions of all clients, metrics, no ceiling')
    .option('--max-sessions <n>', 'sessions at the same time (default: 50; no limit for an admin)', parseCount)
    .option('--max-runs <n>', 'runs and commands at the same time (default: 16; no limit for an admin)', parseCount)
    .option('--requests-per-second <n>', 'requests in the long run (default: 100; no limit for an admin)', parseRate)
    .option('--burst <n>', 'requests that may come at once (default: 200)', parseCount)
    .action(async (name: string, _: unknown, command: Command) => {
      const { add: addKey } = await import('./commands/keys.ts');
      end(await addKey(name, command.optsWithGlobals(), context));
    });

  addVerb('list')
    .description('List the keys, with their roles, quotas and when they were last used. Never prints a key itself.')
    .option('--json', 'print them as one JSON document')
    .action(async (_: unknown, command: Command) => {
      const { list } = await import('./commands/keys.ts');
      end(await list(command.optsWithGlobals(), context));
    });

  addVerb('remove')
    .argument('<name>', 'the key')
    .description('Remove a key. It stops working within a second, and requests that are going on with it are ended.')
    .action(async (name: string, _: unknown, command: Command) => {
      const { remove } = await import('./commands/keys.ts');
      end(await remove(name, command.optsWithGlobals(), context));
    });
}

function parseRate(text: string): number {
  if (!/^\d+(?:\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be a number, such as 5 or 0.5.');
  return Number(text);
}

const KEYS_HELP = `
Examples:
  $ vivarium keys add alice
  $ vivarium keys add batch --max-sessions 4 --max-runs 2 --requests-per-second 5
  $ vivarium keys add operator --admin
  $ vivarium keys list
  $ vivarium keys remove alice

A server without keys serves this machine only. As soon as there is one, every request needs a key.`;

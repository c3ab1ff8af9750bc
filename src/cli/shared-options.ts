/** Options of the command line that several commands share. */
import { InvalidArgumentError, Option, type Command } from 'commander';

/** Options that apply to every session. */
export function addMachineOptions(command: Command): Command {
  return command
    .option('--python <path>', 'Python interpreter to use instead of the environment of `vivarium setup`')
    .option('--environment <name>', 'environment to use that `vivarium environments add` made')
    .addOption(
      new Option(
        '--isolation <level>',
        'isolation of sessions: landlock is weaker than namespaces, none is no isolation',
      ).choices(['namespaces', 'landlock', 'none']),
    );
}

/** Options about where sessions live. */
export function addHostOptions(command: Command): Command {
  return addMachineOptions(command).option(
    '--url <address>',
    'use sessions of the server at this address instead of this machine (default: $VIVARIUM_URL; key: $VIVARIUM_KEY)',
  );
}

/** Options of one session. */
export function addSessionOptions(command: Command): Command {
  return addHostOptions(command)
    .option('--timeout-ms <ms>', 'time limit of a run (default: 60000)', parseCount)
    .option('--memory-mb <mb>', 'memory limit of the session (default: 1024)', parseCount)
    .option(
      '--mount <source:target[:rw]>',
      'make a path of this machine visible in the session; read-only unless it ends in :rw; repeatable',
      append,
    )
    .option('--allow-network', 'allow the session to use the network of this machine')
    .option(
      '--allow-host <host[:port]>',
      'allow the session to reach this host, and nothing that is not listed; repeatable',
      append,
    )
    .option('--deny-host <host[:port]>', 'refuse this host although --allow-host covers it; repeatable', append);
}

/** Files for a session that the command opens itself. */
export function addFileOption(command: Command): Command {
  return command.option(
    '--file <path[=name]>',
    'put a copy of this file or directory into the working directory of the session; repeatable',
    append,
  );
}

/** Packages for a session that the command opens itself. */
export function addPackageOptions(command: Command): Command {
  return command
    .option('--with <requirement>', 'install this package for the session, such as polars==1.*; repeatable', append)
    .option('--packages <names>', 'what the program may install itself: any, or names with commas (default: none)')
    .option(
      '--package-index <url>',
      'index that packages come from; the first that has a name decides; repeatable',
      append,
    );
}

export function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** Collects the values of a repeatable option. */
export function append(text: string, texts: readonly string[] = []): string[] {
  return [...texts, text];
}

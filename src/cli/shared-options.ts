/** Options of the command line that several commands share. */
import { InvalidArgumentError, Option, type Command } from 'commander';

/** Options that apply to every session. */
export function addMachineOptions(command: Command): Command {
  return command
    .option('--python <path>', 'Python interpreter to use instead of the environment of `vivarium setup`')
    .addOption(
      new Option(
        '--isolation <level>',
        'isolation of sessions: landlock is weaker than namespaces, none is no isolation',
      ).choices(['namespaces', 'landlock', 'none']),
    );
}

/** Options of one session. */
export function addSessionOptions(command: Command): Command {
  return addMachineOptions(command)
    .option('--timeout-ms <ms>', 'time limit of a run (default: 60000)', parseCount)
    .option('--memory-mb <mb>', 'memory limit of the session (default: 1024)', parseCount)
    .option(
      '--mount <source:target[:rw]>',
      'make a path of this machine visible in the session; read-only unless it ends in :rw; repeatable',
      append,
    )
    .option('--allow-network', 'allow the session to use the network of this machine');
}

export function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** Collects the values of a repeatable option. */
export function append(text: string, texts: readonly string[] = []): string[] {
  return [...texts, text];
}

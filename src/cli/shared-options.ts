/** Options that several commands have. */
import { InvalidArgumentError, Option, type Command } from 'commander';

/** What decides how sessions are made at all. */
export function addMachineOptions(command: Command): Command {
  return command
    .option('--python <path>', 'interpreter to use instead of the environment of `vivarium setup`')
    .addOption(
      new Option('--isolation <level>', 'walls around sessions; landlock is weaker, none is none').choices([
        'namespaces',
        'landlock',
        'none',
      ]),
    );
}

/** What one session is made with. */
export function addSessionOptions(command: Command): Command {
  return addMachineOptions(command)
    .option('--timeout-ms <ms>', 'longest one run may take (default: 60000)', parseCount)
    .option('--memory-mb <mb>', 'memory of the session (default: 1024)', parseCount)
    .option(
      '--mount <source:target[:rw]>',
      'show a host path in the session, read-only without :rw; repeatable',
      append,
    )
    .option('--allow-network', 'let the session use the network of this machine');
}

export function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** For an option that may be repeated. */
export function append(text: string, texts: readonly string[] = []): string[] {
  return [...texts, text];
}

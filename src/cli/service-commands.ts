/** Declares the commands of the execution service. Their code is loaded when they are used. */
import { Option, type Command } from 'commander';
import type { Context } from './terminal/context.ts';
import { addHostOptions, append, parseCount } from './shared-options.ts';

const STATUSES = ['pending', 'approved', 'edited', 'rejected', 'responded', 'expired', 'all'];

export function addServiceCommands(
  add: (name: string) => Command,
  context: Context,
  end: (exitCode: number) => void,
): void {
  addServiceOptions(addRunOptions(add('task').argument('<objective>', 'what to find out or to make')))
    .description('Have a model write code for a task. The code is analyzed, approved, run and recorded as a notebook.')
    .option('--file <path[=name]>', 'give the code a copy of this file; repeatable', append)
    .option('--context <file>', 'JSON that the code reads as context.TYPE.key.field')
    .option('--expect <name=type>', 'entry that `results` must have, such as mean=float; repeatable', append)
    .option('--code <file>', 'run this code instead of asking a model; - reads standard input')
    .option('--folder <name>', 'part of the name of the record folder (default: the first words of the task)')
    .option('--thread <id>', 'id of the thread that stores the task (default: a new one)')
    .option('--yes', 'approve all code without a review; the audit log says so')
    .option('--json', 'print the result as one JSON document; progress goes to standard error')
    .addHelpText('after', TASK_HELP)
    .action(async (objective: string, _: unknown, command: Command) => {
      const { task } = await import('./commands/task.ts');
      end(await task(objective, command.optsWithGlobals(), context));
    });

  const approvals = add('approvals')
    .description('Review code that waits for approval, and decide about it from any process.')
    .addHelpText('after', APPROVALS_HELP);
  const addVerb = (name: string): Command =>
    approvals.command(name).exitOverride().helpOption('-h, --help', 'print this help').allowExcessArguments(false);
  addReading(addVerb, context, end);
  addDeciding(addVerb, context, end);
}

function addReading(addVerb: (name: string) => Command, context: Context, end: (exitCode: number) => void): void {
  addConfigOption(addVerb('list'))
    .description('List approvals, oldest first.')
    .addOption(new Option('--status <status>', 'only approvals with this status').choices(STATUSES).default('pending'))
    .option('--json', 'print all details as one JSON document')
    .action(async (_: unknown, command: Command) => {
      const { list } = await import('./commands/approvals.ts');
      end(await list(command.optsWithGlobals(), context));
    });

  addConfigOption(addVerb('show').argument('<id>', 'the approval'))
    .description('Show the code and its hash, what the analysis found, what a trial run did, and who asked.')
    .option('--json', 'print all details as one JSON document')
    .action(async (id: string, _: unknown, command: Command) => {
      const { show } = await import('./commands/approvals.ts');
      end(await show(id, command.optsWithGlobals(), context));
    });

  addConfigOption(addVerb('audit'))
    .description('Print the audit log, oldest first: who asked, decided and ran what.')
    .option('--approval <id>', 'only entries of this approval')
    .option('--json', 'print each entry as one line of JSON')
    .action(async (_: unknown, command: Command) => {
      const { audit } = await import('./commands/approvals.ts');
      end(await audit(command.optsWithGlobals(), context));
    });
}

function addDeciding(addVerb: (name: string) => Command, context: Context, end: (exitCode: number) => void): void {
  const addDecision = (name: string): Command =>
    addServiceOptions(addRunOptions(addVerb(name).argument('<id>', 'the approval')))
      .option('--by <name>', 'your name in the audit log (default: your user name)')
      .option('--json', 'print the result as one JSON document')
      .addHelpText('after', EXIT_CODES);

  addDecision('approve')
    .description('Run exactly this code now and print the result.')
    .action(async (id: string, _: unknown, command: Command) => {
      const { decide } = await import('./commands/approvals.ts');
      end(await decide(id, async () => ({ type: 'approve' }), command.optsWithGlobals(), context));
    });

  addDecision('edit')
    .description('Change the code. The new code is analyzed and run, and its result is printed.')
    .option('--code <file>', 'the new code; - reads standard input (default: opens $VISUAL or $EDITOR)')
    .option('--reason <text>', 'reason for the audit log')
    .action(async (id: string, flags: object, command: Command) => {
      const { decide, editedCode } = await import('./commands/approvals.ts');
      end(await decide(id, (approval) => editedCode(approval, flags, context), command.optsWithGlobals(), context));
    });

  addDecision('reject')
    .description('Reject the code. It is never run, and the task ends.')
    .option('--reason <text>', 'reason for the requester and the audit log')
    .action(async (id: string, { reason }: { reason?: string }, command: Command) => {
      const { decide } = await import('./commands/approvals.ts');
      const decision = { type: 'reject', ...(reason !== undefined && { reason }) } as const;
      end(await decide(id, async () => decision, command.optsWithGlobals(), context));
    });

  addDecision('respond')
    .argument('<text>', 'what to do differently')
    .description('Reject the code and have the model write other code, which needs approval like any other.')
    .action(async (id: string, text: string, _: unknown, command: Command) => {
      const { decide } = await import('./commands/approvals.ts');
      end(await decide(id, async () => ({ type: 'respond', text }), command.optsWithGlobals(), context));
    });
}

function addConfigOption(command: Command): Command {
  return command.option(
    '--config <file>',
    'configuration of the service (default: ./config.yml; without one, all code needs approval)',
  );
}

function addServiceOptions(command: Command): Command {
  return addHostOptions(addConfigOption(command));
}

function addRunOptions(command: Command): Command {
  return command
    .option('--model <name>', 'model that writes the code (default: from the configuration or $VIVARIUM_LLM_MODEL)')
    .option('--base-url <url>', 'endpoint of the model (default: from the configuration or $VIVARIUM_LLM_BASE_URL)')
    .option('--timeout-ms <ms>', 'time limit of an execution (default: from the configuration or 600000)', parseCount);
}

const EXIT_CODES = `
Exit code: 0 done, 1 the code failed, 75 waiting for approval, 77 rejected or refused, 124 timed out,
           2 wrong usage or configuration, 3 no session can be opened on this machine,
           4 the approval is unknown or already decided, 5 the model failed, 130 interrupted.`;

const TASK_HELP = `
Examples:
  $ vivarium task "Fit a line to the prices" --file sales.csv --expect slope=float
  $ vivarium task "Mean of the readings" --context readings.json --expect mean=float --json
  $ vivarium task "Check the sums" --code check.py --config /etc/vivarium/config.yml

At a terminal you are asked to approve code before it runs. Without a terminal the task ends with exit code 75 and prints
the id of the approval. Decide it later, from any process, with vivarium approvals.
Without a configuration all code needs approval, and records are written to the data directory.
${EXIT_CODES}`;

const APPROVALS_HELP = `
Examples:
  $ vivarium approvals list
  $ vivarium approvals show ID
  $ vivarium approvals approve ID --by "Ada Lovelace"
  $ vivarium approvals edit ID --code fixed.py
  $ vivarium approvals reject ID --reason "not while the beam is on"
  $ vivarium approvals respond ID "Use the median instead."
  $ vivarium approvals audit --json > audit.jsonl

Use the --config and --data-dir of the task: they determine where approvals and records are stored.`;

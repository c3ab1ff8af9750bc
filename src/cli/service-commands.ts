/** The commands of the execution service, their options and their help. What they do is loaded when they are asked for. */
import { Option, type Command } from 'commander';
import type { Context } from './terminal/context.ts';
import { addMachineOptions, append, parseCount } from './shared-options.ts';

type End = (exitCode: number) => void;

const STATUSES = ['pending', 'approved', 'edited', 'rejected', 'responded', 'expired', 'all'];

export function addServiceCommands(add: (name: string) => Command, context: Context, end: End): void {
  addServiceOptions(addRunOptions(add('task').argument('<objective>', 'what is to be found out or made')))
    .description('Have code written for a task, judged, approved, run and recorded as a notebook.')
    .option('--file <path>', 'give the code a copy of this file, by its name; repeatable', append)
    .option('--context <file>', 'JSON that the code reads as context.TYPE.key.field')
    .option('--expect <name=type>', 'what `results` must have, such as mean=float; repeatable', append)
    .option('--code <file>', 'run this code instead of having some written; - is standard input')
    .option('--folder <name>', 'part of the name of the folder with the record (default: the first words of the task)')
    .option('--thread <id>', 'name of the thread that the task is kept under (default: a new one)')
    .option('--yes', 'approve whatever is asked, without a review; the audit log says so')
    .option('--json', 'print the result as one JSON document; progress stays on standard error')
    .addHelpText('after', TASK_HELP)
    .action(async (objective: string, _: unknown, command: Command) => {
      const { task } = await import('./commands/task.ts');
      end(await task(objective, command.optsWithGlobals(), context));
    });

  const approvals = add('approvals')
    .description('Look at code that waits for approval, and decide about it, also when who asked is long gone.')
    .addHelpText('after', APPROVALS_HELP);
  const addVerb = (name: string): Command =>
    approvals.command(name).exitOverride().helpOption('-h, --help', 'print this help').allowExcessArguments(false);
  addReading(addVerb, context, end);
  addDeciding(addVerb, context, end);
}

function addReading(addVerb: (name: string) => Command, context: Context, end: End): void {
  addConfigOption(addVerb('list'))
    .description('List approvals, those first that have waited longest.')
    .addOption(new Option('--status <status>', 'only these').choices(STATUSES).default('pending'))
    .option('--json', 'print them in full as one JSON document')
    .action(async (_: unknown, command: Command) => {
      const { list } = await import('./commands/approvals.ts');
      end(await list(command.optsWithGlobals(), context));
    });

  addConfigOption(addVerb('show').argument('<id>', 'the approval'))
    .description('Show the code with its hash, what analysis found, what it did when it was tried, and who asked.')
    .option('--json', 'print all of it as one JSON document')
    .action(async (id: string, _: unknown, command: Command) => {
      const { show } = await import('./commands/approvals.ts');
      end(await show(id, command.optsWithGlobals(), context));
    });

  addConfigOption(addVerb('audit'))
    .description('Print who asked, decided and ran what, oldest first.')
    .option('--approval <id>', 'only what concerns this approval')
    .option('--json', 'print each entry as one line of JSON')
    .action(async (_: unknown, command: Command) => {
      const { audit } = await import('./commands/approvals.ts');
      end(await audit(command.optsWithGlobals(), context));
    });
}

function addDeciding(addVerb: (name: string) => Command, context: Context, end: End): void {
  const addDecision = (name: string): Command =>
    addServiceOptions(addRunOptions(addVerb(name).argument('<id>', 'the approval')))
      .option('--by <name>', 'who decides, for the audit log (default: your user name)')
      .option('--json', 'print the result as one JSON document')
      .addHelpText('after', ENDINGS);

  addDecision('approve')
    .description('Have exactly this code run, here and now, and print the result.')
    .action(async (id: string, _: unknown, command: Command) => {
      const { decide } = await import('./commands/approvals.ts');
      end(await decide(id, async () => ({ type: 'approve' }), command.optsWithGlobals(), context));
    });

  addDecision('edit')
    .description('Change the code, have the result judged anew and run, and print what it gives.')
    .option('--code <file>', 'the code to run instead; - is standard input (default: opens $VISUAL or $EDITOR)')
    .option('--reason <text>', 'why, for the audit log')
    .action(async (id: string, flags: object, command: Command) => {
      const { decide, editedCode } = await import('./commands/approvals.ts');
      end(await decide(id, (approval) => editedCode(approval, flags, context), command.optsWithGlobals(), context));
    });

  addDecision('reject')
    .description('Refuse the code. It is never run, and the task ends.')
    .option('--reason <text>', 'why, for whoever asked and for the audit log')
    .action(async (id: string, { reason }: { reason?: string }, command: Command) => {
      const { decide } = await import('./commands/approvals.ts');
      const decision = { type: 'reject', ...(reason !== undefined && { reason }) } as const;
      end(await decide(id, async () => decision, command.optsWithGlobals(), context));
    });

  addDecision('respond')
    .argument('<text>', 'what is to be done differently')
    .description('Refuse the code and have other code written. That code is asked about like any other.')
    .action(async (id: string, text: string, _: unknown, command: Command) => {
      const { decide } = await import('./commands/approvals.ts');
      end(await decide(id, async () => ({ type: 'respond', text }), command.optsWithGlobals(), context));
    });
}

function addConfigOption(command: Command): Command {
  return command.option(
    '--config <file>',
    'configuration of the service (default: ./config.yml, else one that asks about all code)',
  );
}

function addServiceOptions(command: Command): Command {
  return addMachineOptions(addConfigOption(command));
}

function addRunOptions(command: Command): Command {
  return command
    .option('--model <name>', 'model that writes the code (default: as configured, else $VIVARIUM_LLM_MODEL)')
    .option('--base-url <url>', 'its endpoint (default: as configured, else $VIVARIUM_LLM_BASE_URL)')
    .option('--timeout-ms <ms>', 'longest one execution may take (default: as configured, else 600000)', parseCount);
}

const ENDINGS = `
Exit code: 0 done, 1 the code failed for good, 75 it waits for an approval, 77 it was rejected or refused, 124 timed out,
           2 bad use or configuration, 3 nothing can be run here, 4 the approval is unknown or decided, 5 the model failed,
           130 interrupted.`;

const TASK_HELP = `
Examples:
  $ vivarium task "Fit a line to the prices" --file sales.csv --expect slope=float
  $ vivarium task "Mean of the readings" --context readings.json --expect mean=float --json
  $ vivarium task "Check the sums" --code check.py --config /etc/vivarium/config.yml

At a terminal you are asked before code runs that needs approval. Anywhere else the task ends with 75, its approval keeps
waiting, and its id is on standard output: decide it with vivarium approvals, from any process.
Without a configuration all code is asked about, and records lie in the data directory.
${ENDINGS}`;

const APPROVALS_HELP = `
Examples:
  $ vivarium approvals list
  $ vivarium approvals show ID
  $ vivarium approvals approve ID --by "Ada Lovelace"
  $ vivarium approvals edit ID --code mended.py
  $ vivarium approvals reject ID --reason "not while the beam is on"
  $ vivarium approvals respond ID "Use the median instead."
  $ vivarium approvals audit --json > audit.jsonl

Use the --config and --data-dir that the task was started with: they say where approvals and records lie.`;

/** The commands, their options and their help. What a command does is loaded when it is asked for. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import type { Context } from './terminal/context.ts';
import { reportError } from './terminal/failure.ts';
import { addMachineOptions, addSessionOptions, append, parseCount } from './shared-options.ts';
import { addServiceCommands } from './service-commands.ts';

/** Runs one command line and resolves to its exit code. */
export async function runProgram(args: readonly string[], context: Context): Promise<number> {
  let exitCode = 0;
  const program = describeProgram(context, args[0] ?? '', (code) => (exitCode = code));
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    exitCode = error instanceof CommanderError ? exitCodeOf(error) : await reportError(error, context);
  }
  return context.lifetime.signal.aborted ? context.lifetime.exitCode : exitCode;
}

/** Commander has printed its message already. */
function exitCodeOf(error: CommanderError): number {
  return error.exitCode === 0 ? 0 : 2;
}

type Add = (name: string) => Command;
type End = (exitCode: number) => void;

/** Commands that are described alone when they are asked for: to describe all takes milliseconds. */
const HURRIED: ReadonlyMap<string, (add: Add, context: Context, end: End) => void> = new Map([
  ['run', addRunCommand],
  ['repl', addReplCommand],
]);

function describeProgram(context: Context, asked: string, end: End): Command {
  const program = new Command('vivarium')
    .description('Runs Python in confined sessions: warm, stateful, and safe from its own crashes.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .option(
      '--data-dir <path>',
      'where environments, caches and workspaces are kept (default: $VIVARIUM_HOME, else XDG)',
    )
    .exitOverride()
    .showHelpAfterError('hint: add --help to see what can be used')
    .addHelpText('after', PROGRAM_HELP);
  const add = (name: string): Command =>
    program.command(name).exitOverride().helpOption('-h, --help', 'print this help').allowExcessArguments(false);

  const hurried = HURRIED.get(asked);
  if (hurried) {
    hurried(add, context, end);
    return program;
  }
  for (const addOne of HURRIED.values()) addOne(add, context, end);
  addAgentCommands(add, context, end);
  addServiceCommands(add, context, end);

  addMachineOptions(add('doctor'))
    .description('Say what this machine has and lacks: Python, libraries, each wall and each limit.')
    .option('--json', 'print the findings as one JSON document')
    .addHelpText('after', '\nExit code: 0 when sessions can be opened, 3 when not.')
    .action(async (_: unknown, command: Command) => {
      const { doctor } = await import('./commands/doctor.ts');
      end(await doctor(readVersion(), command.optsWithGlobals(), context));
    });

  add('setup')
    .description('Make the Python environment that sessions run on. Says nothing when there is nothing to do.')
    .option('--python <path>', 'use this interpreter as it is, instead of building an environment')
    .addHelpText('after', SETUP_HELP)
    .action(async (_: unknown, command: Command) => {
      const { setup } = await import('./commands/setup.ts');
      end(await setup(command.optsWithGlobals(), context));
    });
  return program;
}

function addRunCommand(add: Add, context: Context, end: End): void {
  addSessionOptions(add('run').argument('[file]', 'the program, or - to read it from standard input'))
    .description('Run a Python program in a fresh session; its output comes through as it is printed.')
    .option('-c, --code <code>', 'the program itself, instead of a file')
    .addOption(
      new Option('--echo <mode>', 'which top-level expressions to show')
        .choices(['all', 'last', 'none'])
        .default('none'),
    )
    .option('--json', 'print the whole result as one JSON document, and nothing else')
    .option('--output-dir <path>', 'put the files and figures that it makes here; replaces files of the same name')
    .addHelpText('after', RUN_HELP)
    .action(async (file: string | undefined, _: unknown, command: Command) => {
      const { run } = await import('./commands/run.ts');
      end(await run(file, command.optsWithGlobals(), context));
    });
}

function addReplCommand(add: Add, context: Context, end: End): void {
  addSessionOptions(add('repl'))
    .description('Talk to one session. Ctrl-C interrupts and keeps the variables, Ctrl-D leaves.')
    .addOption(
      new Option('--echo <mode>', 'which top-level expressions to show')
        .choices(['all', 'last', 'none'])
        .default('last'),
    )
    .addHelpText('after', REPL_HELP)
    .action(async (_: unknown, command: Command) => {
      const { repl } = await import('./commands/repl.ts');
      end(await repl(command.optsWithGlobals(), context));
    });
}

function addAgentCommands(add: Add, context: Context, end: End): void {
  addSessionOptions(add('agent').argument('[question]', 'what to find out; without it, a chat at the terminal'))
    .description('Ask a model that answers by running Python in a session. Shows its thoughts, code and output.')
    .option('--file <path>', 'give the agent a copy of this file; repeatable', append)
    .option('--output-dir <path>', 'where to put the files that the agent makes (default: in the data directory)')
    .option('--model <name>', 'model to ask (default: $VIVARIUM_LLM_MODEL)')
    .option('--base-url <url>', 'endpoint that speaks the protocol of OpenAI (default: $VIVARIUM_LLM_BASE_URL)')
    .option('--max-iterations <n>', 'how often the model may write before it must answer (default: 10)', parseCount)
    .option('--react', 'for a model that cannot call tools: it writes its actions as text')
    .addHelpText('after', AGENT_HELP)
    .action(async (question: string | undefined, _: unknown, command: Command) => {
      const { agent } = await import('./commands/agent.ts');
      end(await agent(question, command.optsWithGlobals(), context));
    });

  addMachineOptions(add('tools'))
    .description('Print the tools as a model is told of them, with the limits and libraries of this machine.')
    .addOption(new Option('--format <name>', 'whose form').choices(['openai', 'anthropic', 'mcp']).default('openai'))
    .action(async (_: unknown, command: Command) => {
      const { tools } = await import('./commands/tools.ts');
      end(await tools(command.optsWithGlobals(), context));
    });
}

/** Lies beside `src` as well as beside `dist`: the same depth from both. */
function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}

const PROGRAM_HELP = `
Examples:
  $ vivarium run analysis.py
  $ vivarium run -c "print(6 * 7)"
  $ vivarium repl
  $ vivarium agent "What is the mean of the column price?" --file sales.csv
  $ vivarium task "Fit a line to the prices" --file sales.csv --expect slope=float
  $ vivarium approvals list
  $ vivarium doctor

Environment: VIVARIUM_HOME (data directory), VIVARIUM_PYTHON, VIVARIUM_ISOLATION. Options win over them.`;

const RUN_HELP = `
Examples:
  $ vivarium run analysis.py --mount ./data:/data
  $ echo "print('hello')" | vivarium run -
  $ vivarium run -c "import math; math.pi" --echo last
  $ vivarium run job.py --timeout-ms 5000 --memory-mb 256 --json
  $ vivarium run report.py --output-dir out

Exit code: 0 succeeded, 1 raised, N after sys.exit(N), 124 timed out, 137 out of memory or crashed, 130 interrupted,
           2 bad use, 3 no session can be opened here (see vivarium doctor).`;

const REPL_HELP = `
At the prompt: %vars  %rollback  %reset  %help

Examples:
  $ vivarium repl
  $ vivarium repl --mount ./data:/data:rw --timeout-ms 600000
  $ vivarium repl < cells.py`;

const AGENT_HELP = `
Examples:
  $ vivarium agent "Which month sold most? Draw it." --file sales.csv --output-dir .
  $ vivarium agent --base-url http://localhost:11434/v1 --model qwen3
  $ vivarium agent --base-url http://localhost:11434/v1 --model gemma2 --react
  $ echo "What is 2 to the 100?" | vivarium agent | tee answer.txt

Environment: VIVARIUM_LLM_BASE_URL, VIVARIUM_LLM_API_KEY, VIVARIUM_LLM_MODEL; else OPENAI_API_KEY, OPENAI_BASE_URL.
When the output is piped on, the answer alone is on standard output and the steps are on standard error.

Exit code: 0 answered, 1 no answer within the iterations, 2 bad use or no model set, 3 no session can be opened here,
           5 the model failed, 130 interrupted.`;

const SETUP_HELP = `
Examples:
  $ vivarium setup
  $ vivarium setup --python /usr/bin/python3.12`;

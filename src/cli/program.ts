/** Declares the commands, their options and their help. The code of a command is loaded when it is used. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError, Option } from 'commander';
import type { Context } from './terminal/context.ts';
import { reportError } from './terminal/failure.ts';
import { separateProgram } from './program-arguments.ts';
import { addEnvironmentCommands } from './environment-commands.ts';
import { addKeyCommands } from './key-commands.ts';
import {
  addFileOption,
  addHostOptions,
  addMachineOptions,
  addPackageOptions,
  addSessionOptions,
  append,
  parseCount,
} from './shared-options.ts';
import { addServeCommand } from './serve-command.ts';
import { addServiceCommands } from './service-commands.ts';

/** Runs one command line and resolves to its exit code. */
export async function runProgram(args: readonly string[], context: Context): Promise<number> {
  let exitCode = 0;
  const program = describeProgram(context, args[0] ?? '', (code) => (exitCode = code));
  try {
    await program.parseAsync(separateProgram(args, program), { from: 'user' });
  } catch (error) {
    exitCode = error instanceof CommanderError ? exitCodeOf(error) : await reportError(error, context);
  }
  return context.lifetime.signal.aborted ? context.lifetime.exitCode : exitCode;
}

/** Commander has already printed its message. */
function exitCodeOf(error: CommanderError): number {
  return error.exitCode === 0 ? 0 : 2;
}

type AddCommand = (name: string) => Command;
type SetExitCode = (exitCode: number) => void;

/** When one of these is used, only it is declared: declaring all commands takes milliseconds. */
const DECLARED_ALONE: ReadonlyMap<string, (add: AddCommand, context: Context, end: SetExitCode) => void> = new Map([
  ['run', addRunCommand],
  ['exec', addExecCommand],
  ['repl', addReplCommand],
]);

function describeProgram(context: Context, asked: string, end: SetExitCode): Command {
  const program = new Command('vivarium')
    .description('Run Python in isolated sessions that keep their state, even when the code crashes.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .option(
      '--data-dir <path>',
      'directory for environments, caches and workspaces (default: $VIVARIUM_HOME or ~/.local/share/vivarium)',
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
    })
    .showHelpAfterError('hint: add --help to see the options')
    .addHelpText('after', PROGRAM_HELP);
  const add = (name: string): Command =>
    program.command(name).exitOverride().helpOption('-h, --help', 'print this help').allowExcessArguments(false);

  const hurried = DECLARED_ALONE.get(asked);
  if (hurried) {
    hurried(add, context, end);
    return program;
  }
  for (const addOne of DECLARED_ALONE.values()) addOne(add, context, end);
  addAgentCommands(add, context, end);
  addServiceCommands(add, context, end);
  addServeCommand(add, context, end);

  addMachineOptions(add('doctor'))
    .description('Check what sessions need on this machine: Python, libraries, isolation and limits.')
    .option('--json', 'print the findings as one JSON document')
    .addHelpText('after', '\nExit code: 0 if sessions can be opened, 3 if not.')
    .action(async (_: unknown, command: Command) => {
      const { doctor } = await import('./commands/doctor.ts');
      const pythonSide = fileURLToPath(new URL('python/', PACKAGE));
      end(await doctor({ version: readVersion(), pythonSide }, command.optsWithGlobals(), context));
    });

  addEnvironmentCommands(add, context, end);
  addKeyCommands(add, context, end);
  return program;
}

function addRunCommand(add: AddCommand, context: Context, end: SetExitCode): void {
  const command = add('run')
    .argument('[file]', 'the program, or - to read it from standard input')
    .argument('[args...]', 'arguments of the program; options after the program are its own');
  addPackageOptions(addFileOption(addSessionOptions(command)))
    .description('Run a Python program in a new session and print its output as it arrives.')
    .option('-c, --code <code>', 'run this code instead of a file; what follows it are its arguments')
    .addOption(
      new Option('--echo <mode>', 'top-level expressions whose values are shown')
        .choices(['all', 'last', 'none'])
        .default('none'),
    )
    .option('--json', 'print the whole result as one JSON document and nothing else')
    .option('--output-dir <path>', 'copy the files and figures that the program makes here')
    .option('--overwrite', OVERWRITE)
    .addHelpText('after', RUN_HELP)
    .action(async (file: string | undefined, args: readonly string[]) => {
      const { run } = await import('./commands/run.ts');
      end(await run(file === undefined ? [] : [file, ...args], command.optsWithGlobals(), context));
    });
}

function addExecCommand(add: AddCommand, context: Context, end: SetExitCode): void {
  const command = add('exec')
    .argument('[program]', 'the program, as a shell would find it')
    .argument('[args...]', 'arguments of the program; options after the program are its own');
  addFileOption(addSessionOptions(command))
    .description('Run a command of the system in a new session, behind the walls that Python has there.')
    .addHelpText('after', EXEC_HELP)
    .action(async (program: string | undefined, args: readonly string[]) => {
      const { exec } = await import('./commands/exec.ts');
      end(await exec(program === undefined ? [] : [program, ...args], command.optsWithGlobals(), context));
    });
}

function addReplCommand(add: AddCommand, context: Context, end: SetExitCode): void {
  addPackageOptions(addFileOption(addSessionOptions(add('repl'))))
    .description('Run Python interactively in one session. Ctrl-C keeps the variables, Ctrl-D leaves.')
    .addOption(
      new Option('--echo <mode>', 'top-level expressions whose values are shown')
        .choices(['all', 'last', 'none'])
        .default('last'),
    )
    .addHelpText('after', REPL_HELP)
    .action(async (_: unknown, command: Command) => {
      const { repl } = await import('./commands/repl.ts');
      end(await repl(command.optsWithGlobals(), context));
    });
}

function addAgentCommands(add: AddCommand, context: Context, end: SetExitCode): void {
  addSessionOptions(
    add('agent').argument('[question]', 'the question (default: read from standard input, or a chat at a terminal)'),
  )
    .description('Ask a model that runs Python in a session. Shows its thoughts, code and output.')
    .option('--file <path[=name]>', 'give the agent a copy of this file or directory; repeatable', append)
    .option('--output-dir <path>', 'directory for the files that the agent makes (default: in the data directory)')
    .option('--overwrite', OVERWRITE)
    .option('--model <name>', 'name of the model (default: $VIVARIUM_LLM_MODEL)')
    .option('--base-url <url>', 'OpenAI-compatible endpoint (default: $VIVARIUM_LLM_BASE_URL)')
    .option('--max-iterations <n>', 'number of model calls before it must answer (default: 10)', parseCount)
    .option('--react', 'let the model write its actions as text, for models without tool calling')
    .addHelpText('after', AGENT_HELP)
    .action(async (question: string | undefined, _: unknown, command: Command) => {
      const { agent } = await import('./commands/agent.ts');
      end(await agent(question, command.optsWithGlobals(), context));
    });

  addHostOptions(add('tools'))
    .description('Print the tool definitions for models, with the limits and libraries of this machine.')
    .addOption(
      new Option('--format <name>', 'format of the definitions')
        .choices(['openai', 'anthropic', 'mcp'])
        .default('openai'),
    )
    .action(async (_: unknown, command: Command) => {
      const { tools } = await import('./commands/tools.ts');
      end(await tools(command.optsWithGlobals(), context));
    });
}

/** The folder of this package: at the same depth from `src/cli` as from `dist/bin`. */
const PACKAGE = new URL('../../', import.meta.url);

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('package.json', PACKAGE), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}

const PROGRAM_HELP = `
Examples:
  $ vivarium run analysis.py
  $ vivarium run -c "print(6 * 7)"
  $ vivarium exec bash -c "ls; id"
  $ vivarium repl
  $ vivarium agent "What is the mean of the column price?" --file sales.csv
  $ vivarium task "Fit a line to the prices" --file sales.csv --expect slope=float
  $ vivarium approvals list
  $ vivarium serve --port 8000
  $ vivarium doctor

Environment: VIVARIUM_HOME (data directory), VIVARIUM_PYTHON, VIVARIUM_ISOLATION, VIVARIUM_URL and VIVARIUM_KEY (a server
that has the sessions instead of this machine). Options override them.`;

const OVERWRITE = 'replace files in the output directory (default: use a new directory in it unless it is empty)';

const RUN_HELP = `
Examples:
  $ vivarium run analysis.py --fast 2026
  $ vivarium run --file sales.csv --output-dir out report.py
  $ vivarium run --mount ./data:/data analysis.py
  $ vivarium run --echo last -c "import math; math.pi"
  $ vivarium run --timeout-ms 5000 --memory-mb 256 --json job.py
  $ echo "print('hello')" | vivarium run -

As with python, options before the program are those of vivarium, and everything after it is in sys.argv.

Exit code: 0 succeeded, 1 raised, N after sys.exit(N), 124 timed out, 137 out of memory or crashed, 130 interrupted,
           2 wrong usage, 3 no session can be opened on this machine (see vivarium doctor).`;

const EXEC_HELP = `
Examples:
  $ vivarium exec ls -la
  $ vivarium exec --file data.tar.gz -- tar -tzf data.tar.gz
  $ echo "some text" | vivarium exec wc -w
  $ vivarium exec --timeout-ms 5000 bash -c 'echo $HOME; exit 3'

Exit code: that of the command, 127 no such program, 126 it could not be started, 128 + N ended by signal N,
           124 timed out, 130 interrupted, 2 wrong usage, 3 no session can be opened on this machine.`;

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

Environment: VIVARIUM_LLM_BASE_URL, VIVARIUM_LLM_API_KEY, VIVARIUM_LLM_MODEL, or OPENAI_API_KEY and OPENAI_BASE_URL.
If standard output is not a terminal, it gets only the answer; the steps go to standard error.

Exit code: 0 answered, 1 no answer within --max-iterations, 2 wrong usage or no model configured,
           3 no session can be opened on this machine, 5 the model failed, 130 interrupted.`;

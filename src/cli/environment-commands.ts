/** Declares the commands about Python environments. Their code is loaded when they are used. */
import { Option, type Command } from 'commander';
import { SET_NAMES } from '../environment/library-sets.ts';
import { parseCount } from './shared-options.ts';
import type { Context } from './terminal/context.ts';

type AddCommand = (name: string) => Command;
type SetExitCode = (exitCode: number) => void;

export function addEnvironmentCommands(add: AddCommand, context: Context, end: SetExitCode): void {
  addSetup(add, context, end);
  const environments = add('environments')
    .description('Make Python environments with other packages, for sessions that name them.')
    .addHelpText('after', ENVIRONMENTS_HELP);
  addNamed(
    (name) =>
      environments.command(name).exitOverride().helpOption('-h, --help', 'print this help').allowExcessArguments(false),
    context,
    end,
  );
}

function addSetup(add: AddCommand, context: Context, end: SetExitCode): void {
  add('setup')
    .description('Create the Python environment that sessions run on. Prints nothing if it already exists.')
    .option('--python <path>', 'use this interpreter as it is instead of creating an environment')
    .addOption(
      new Option('--set <name>', 'libraries to install; the default is what there is, otherwise full').choices(
        SET_NAMES,
      ),
    )
    .option('--wait <seconds>', 'stop waiting for the package index after this time and use what is there', parseCount)
    .addHelpText('after', SETUP_HELP)
    .action(async (_: unknown, command: Command) => {
      const { setup } = await import('./commands/setup.ts');
      end(await setup(command.optsWithGlobals(), context));
    });
}

function addNamed(addVerb: AddCommand, context: Context, end: SetExitCode): void {
  addVerb('add')
    .argument('<name>', 'name of the environment: lower case letters, digits, "-" and "_"')
    .argument('[packages...]', 'packages to add, such as geopandas or "shapely==2.*"; wheels only')
    .description('Make an environment from a set of libraries and more packages. Versions and hashes are recorded.')
    .addOption(
      new Option('--set <name>', 'libraries to start with; the default is those of `vivarium setup`').choices([
        ...SET_NAMES,
        'none',
      ]),
    )
    .option('--python <version>', 'version of Python, such as 3.12, or the path of one')
    .action(async (name: string, packages: readonly string[], _: unknown, command: Command) => {
      const { add } = await import('./commands/environments.ts');
      end(await add(name, packages, command.optsWithGlobals(), context));
    });

  addVerb('list')
    .description('List the environments and what was added to each.')
    .option('--json', 'print the manifests of the named ones as one JSON document, with all hashes')
    .action(async (_: unknown, command: Command) => {
      const { list } = await import('./commands/environments.ts');
      end(await list(command.optsWithGlobals(), context));
    });

  addVerb('rebuild')
    .argument('<name>', 'the environment')
    .description('Build an environment again from the same wheels, for example after its Python was removed.')
    .action(async (name: string, _: unknown, command: Command) => {
      const { rebuild } = await import('./commands/environments.ts');
      end(await rebuild(name, command.optsWithGlobals(), context));
    });

  addVerb('remove')
    .argument('<name>', 'the environment')
    .description('Remove an environment that no session uses.')
    .action(async (name: string, _: unknown, command: Command) => {
      const { remove } = await import('./commands/environments.ts');
      end(await remove(name, command.optsWithGlobals(), context));
    });
}

const ENVIRONMENTS_HELP = `
Examples:
  $ vivarium environments add geo geopandas "shapely==2.*"
  $ vivarium environments add old "pandas<2" --set none --python 3.11
  $ vivarium run --environment geo map.py
  $ vivarium environments list
  $ vivarium environments remove geo`;

const SETUP_HELP = `
Examples:
  $ vivarium setup
  $ vivarium setup --set core
  $ vivarium setup --python /usr/bin/python3.12

Exit code: 0 if the environment exists now, 1 if it could not be made (no package index, for example),
           3 if there is no Python to make it with. Without one, sessions run on a Python of this machine as it is.`;

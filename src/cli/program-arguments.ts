/** Which arguments are ours and which are those of the program that is run. */
import type { Command, Option } from 'commander';

/**
 * Puts `--` where the arguments of the program begin, so that they are not taken for options of ours. The rule is
 * Python's: everything after the file, `-` or `-c CODE` belongs to the program. `exec` has the same without `-c`.
 */
export function separateProgram(args: readonly string[], program: Command): readonly string[] {
  const runs = program.commands.filter((command) => command.name() === 'run' || command.name() === 'exec');
  const options = [...program.options, ...runs.flatMap((command) => command.options)];
  let asked = '';
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const option = options.find(({ short, long }) => arg === short || arg === long);
    if (arg === '--') return args;
    if (asked === 'run' && isCode(arg)) return insertAt(args, option === undefined ? index + 1 : index + 2);
    if (takesNext(option)) index += 1;
    else if (arg.startsWith('-') && arg !== '-') continue;
    else if (asked !== '') return insertAt(args, index + 1);
    else if (arg === 'run' || arg === 'exec') asked = arg;
    else return args;
  }
  return args;
}

/** Whether this is `-c`, `--code`, or one of them with the code in it. */
function isCode(arg: string): boolean {
  return arg.startsWith('-c') || arg === '--code' || arg.startsWith('--code=');
}

function takesNext(option: Option | undefined): boolean {
  return option?.required ?? false;
}

/** Beyond the end, the value of an option is missing, which its parser reports. */
function insertAt(args: readonly string[], index: number): readonly string[] {
  return index > args.length ? args : [...args.slice(0, index), '--', ...args.slice(index)];
}

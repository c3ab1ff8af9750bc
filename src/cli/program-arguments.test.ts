import { Command } from 'commander';
import { expect, test } from 'vitest';
import { separateProgram } from './program-arguments.ts';

const program = new Command().option('--data-dir <path>', 'a directory').option('-V, --version', 'the version');
program.command('run').option('-c, --code <code>', 'code').option('--json', 'a flag').option('--file <path>', 'a file');
program.command('exec').option('--file <path>', 'a file');
program.command('repl').option('--file <path>', 'a file');

test.for([
  ['run prog.py a --json', 'run prog.py -- a --json'],
  ['run --json --file x prog.py -c 1 --file y', 'run --json --file x prog.py -- -c 1 --file y'],
  ['run --file=x prog.py', 'run --file=x prog.py --'],
  ['run - a', 'run - -- a'],
  ['run -c 1 --json a', 'run -c 1 -- --json a'],
  ['run -cprint(1) --json', 'run -cprint(1) -- --json'],
  ['run --code 1 prog.py', 'run --code 1 -- prog.py'],
  ['run --code=1 -h', 'run --code=1 -- -h'],
  ['run --json prog.py -- -x', 'run --json prog.py -- -- -x'],
  ['exec ls -la --file x', 'exec ls -- -la --file x'],
  ['exec --file x bash -c run', 'exec --file x bash -- -c run'],
  ['--data-dir run run prog.py --version', '--data-dir run run prog.py -- --version'],
] as const)('%s belongs to the program from %s on', ([given, separated]) => {
  expect(separateProgram(given.split(' '), program)).toEqual(separated.split(' '));
});

test.for(['run', 'run --json', 'run --help', 'run -- prog.py --json', 'run -c', 'repl --file a', 'help run', '-V', ''])(
  '%s has no program, or says itself where it begins',
  (given) => {
    const args = given.split(' ').filter(Boolean);
    expect(separateProgram(args, program)).toEqual(args);
  },
);

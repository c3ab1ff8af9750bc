/** Entry of the command line: reads the surroundings, runs one command, exits. Loads little before it knows what to do. */
import { enableCompileCache } from 'node:module';
import path from 'node:path';
import { startAhead } from './head-start.ts';
import { Lifetime } from './terminal/lifetime.ts';
import { Output } from './terminal/output.ts';

const { XDG_CACHE_HOME, HOME } = process.env;
const cacheHome = XDG_CACHE_HOME || (HOME && path.join(HOME, '.cache'));
// Node's own choice would be a directory that every user of the machine can write to.
if (cacheHome) enableCompileCache(path.join(cacheHome, 'vivarium', 'node'));

const args = process.argv.slice(2);
const headStart = startAhead(args, process.env);

const lifetime = new Lifetime();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!lifetime.receive(signal)) process.exit(lifetime.exitCode);
  });
}
const stdout = new Output(process.stdout, () => lifetime.receive('SIGPIPE'));
const stderr = new Output(process.stderr, () => {});

const { runProgram } = await import('./program.ts');
const exitCode = await runProgram(args, {
  environment: process.env,
  get stdin() {
    return process.stdin; // slow to open, and seldom read
  },
  stdout,
  stderr,
  lifetime,
  headStart,
});
await Promise.all([stdout.flush(), stderr.flush()]);
headStart?.child.kill('SIGKILL'); // nobody wanted it, or it has ended long since
process.exit(exitCode); // a terminal or a pipe on stdin would keep the process waiting for more

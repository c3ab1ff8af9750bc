/** Entry of the command line: runs one command and exits. Loads as little as possible before Python has been started. */
import { enableCompileCache } from 'node:module';
import path from 'node:path';
import { startAhead } from './head-start.ts';
import { Lifetime } from './terminal/lifetime.ts';
import { OutputStream } from './terminal/output-stream.ts';

const { XDG_CACHE_HOME, HOME } = process.env;
const cacheHome = XDG_CACHE_HOME || (HOME && path.join(HOME, '.cache'));
// Node's default is a directory that every user of the machine can write to.
if (cacheHome) enableCompileCache(path.join(cacheHome, 'vivarium', 'node'));

const args = process.argv.slice(2);
const headStart = startAhead(args, process.env);

const lifetime = new Lifetime();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!lifetime.receive(signal)) process.exit(lifetime.exitCode);
  });
}
// It would open Node's debugger to everybody who can reach a port of this machine.
process.on('SIGUSR1', () => {});
const stdout = new OutputStream(process.stdout, () => lifetime.receive('SIGPIPE'));
const stderr = new OutputStream(process.stderr, () => {});

const { runProgram } = await import('./program.ts');
const exitCode = await runProgram(args, {
  environment: process.env,
  get stdin() {
    return process.stdin; // slow to open, and rarely needed
  },
  stdout,
  stderr,
  lifetime,
  headStart,
});
await Promise.all([stdout.flush(), stderr.flush()]);
headStart?.child.kill('SIGKILL'); // not used, or already ended
process.exit(exitCode); // an open stdin would keep the process alive

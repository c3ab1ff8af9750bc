/** Declares the command that starts the server. Its code is loaded when it is used. */
import type { Command } from 'commander';
import type { Context } from './terminal/context.ts';
import { addMachineOptions, append, parseCount } from './shared-options.ts';

export function addServeCommand(
  add: (name: string) => Command,
  context: Context,
  end: (exitCode: number) => void,
): void {
  addMachineOptions(add('serve'))
    .description('Serve sessions over HTTP to programs in any language.')
    .option('--port <n>', 'port to listen on; 0 for one that is free (default: 8000)', parseCount)
    .option(
      '--host <address>',
      'address to listen on; others than those of this machine need a key (default: 127.0.0.1)',
    )
    .option('--public-host <name>', 'name that the server is reached by, besides its address; repeatable', append)
    .option('--domain <name>', 'domain below which every name leads to the server')
    .option('--allow-mount <path[:rw]>', 'let sessions mount this path and what is below; repeatable', append)
    .option('--allow-network', 'let sessions have the network of this machine if they ask for it')
    .option('--allow-host <host[:port]>', 'let sessions reach this host if they ask for it; repeatable', append)
    .option('--deny-host <host[:port]>', 'refuse this host although --allow-host covers it; repeatable', append)
    .option('--packages <names>', 'what sessions may install if they ask for it: any, or names with commas')
    .option('--package-index <url>', 'index that packages come from; repeatable', append)
    .option('--timeout-ms <ms>', 'time limit of a run that names none (default: 60000)', parseCount)
    .option('--memory-mb <mb>', 'most memory of one session (default: 1024)', parseCount)
    .option('--max-sessions <n>', 'most sessions at the same time (default: 200)', parseCount)
    .option('--pool-size <n>', 'sessions that are kept ready (default: 2)', parseCount)
    .option('--idle-ms <ms>', 'idle time after which a session is closed (default: 3600000)', parseCount)
    .option('--config <file>', 'configuration of the execution service (default: all its code needs approval)')
    .option(
      '--drain-ms <ms>',
      'how long running code may take to end when the server is stopped (default: 10000)',
      parseCount,
    )
    .option('--reattach-ms <ms>', 'how long a run goes on when its client has left (default: 30000)', parseCount)
    .option('--log', 'print one line of JSON for each request and each event of a session to standard error')
    .option('--log-code', 'the same, with the code that ran and what it printed')
    .addHelpText('after', HELP)
    .action(async (_: unknown, command: Command) => {
      const { serve } = await import('./commands/serve.ts');
      end(await serve(command.optsWithGlobals(), context));
    });
}

const HELP = `
Examples:
  $ vivarium serve
  $ vivarium serve --port 0 --log
  $ vivarium serve --host 0.0.0.0 --public-host python.example.org
  $ vivarium serve --allow-mount /data --allow-host pypi.org:443 --packages polars,duckdb

Ctrl-C or SIGTERM stops it: running code may end within --drain-ms, what runs then is cancelled. A second signal ends
everything at once. See docs/server.md.

Exit code: 0 stopped, 2 wrong usage, 3 no session can be opened on this machine (see vivarium doctor).`;

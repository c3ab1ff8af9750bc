/** Shows the examples one after the other: the code, then what it does. */
import { copyFile, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { styleText } from 'node:util';
import { createHost, VivariumError, type Execution, type Host } from '../src/index.ts';

const startedAt = performance.now();
try {
  await showPrograms();
  await showScripts();
  showWhatNext();
} catch (error) {
  if (!(error instanceof VivariumError)) throw error;
  console.error(
    `error: ${error.message}\nhint: \`npx node src/cli/main.ts doctor\` shows what this machine has and lacks`,
  );
  process.exitCode = 3;
}

/** The examples in TypeScript run when they are imported. */
async function showScripts(): Promise<void> {
  await show('quickstart.ts', 'A session keeps its variables');
  await import('./quickstart.ts');
  await show('crash-and-recovery.ts', 'A crash costs no variables');
  await import('./crash-and-recovery.ts');
  await show('timeout.ts', 'A run that takes too long is stopped');
  await import('./timeout.ts');
}

/** The examples in Python need the libraries that set-up installs. */
async function showPrograms(): Promise<void> {
  await using host = await createHost();
  const { environment, isolation } = host;
  console.log(`Python ${environment.version}, each session behind walls of its own (${isolation.level}).`);
  const missing = ['numpy', 'pandas', 'matplotlib'].filter((name) => environment.missing.includes(name));
  if (missing.length > 0) {
    console.log(
      `Skipping the analysis and the plot: ${missing.join(', ')} are missing. \`vivarium setup\` installs them.`,
    );
    return;
  }
  const analysis = await show('analysis.py', 'An analysis with pandas');
  report(await host.runOnce(analysis));
  await plot(host);
}

async function plot(host: Host): Promise<void> {
  const code = await show('plot-to-file.py', 'A plot, saved in the session and fetched from it');
  await using session = await host.createSession();
  report(await session.runCode(code));
  const copy = path.join(await mkdtemp(path.join(tmpdir(), 'vivarium-tour-')), 'plot.png');
  await copyFile(path.join((await session.info()).workspace, 'plot.png'), copy);
  console.log(`a copy is in ${copy}`);
}

/** Prints a heading and the code, and gives the code back. */
async function show(file: string, title: string): Promise<string> {
  const code = await readFile(new URL(file, import.meta.url), 'utf8');
  console.log(`\n${styleText('bold', `${title} (examples/${file})`)}\n`);
  console.log(styleText('dim', code.trimEnd().replaceAll(/^(?=.)/gm, '  ')), '\n');
  return code;
}

function report({ logs, outcome, error, durationMs }: Execution): void {
  process.stdout.write(logs.stdout);
  if (outcome.status !== 'succeeded') throw new Error(`the example ${outcome.status}: ${error?.traceback ?? ''}`);
  console.log(styleText('dim', `(${durationMs.toFixed(0)} ms in a fresh session)`));
}

function showWhatNext(): void {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`\n${styleText('bold', 'What to try next')} (that took ${seconds} s)

  npx node src/cli/main.ts repl                      talk to a session; crash it if you can
  npx node src/cli/main.ts run examples/analysis.py  run a program
  npx node src/cli/main.ts doctor                    see what confines sessions on this machine
  npm test                                           see every promise tried
`);
}

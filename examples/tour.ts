/** Runs the examples one after the other, and prints the code of each before its output. */
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
    `error: ${error.message}\nhint: run \`npx node src/cli/main.ts doctor\` to see what this machine lacks`,
  );
  process.exitCode = 3;
}

/** The TypeScript examples run when they are imported. */
async function showScripts(): Promise<void> {
  await show('quickstart.ts', 'A session keeps its variables');
  await import('./quickstart.ts');
  await show('crash-and-recovery.ts', 'Variables survive a crash');
  await import('./crash-and-recovery.ts');
  await show('timeout.ts', 'A run that takes too long is stopped');
  await import('./timeout.ts');
}

/** The Python examples need the libraries that `vivarium setup` installs. */
async function showPrograms(): Promise<void> {
  await using host = await createHost();
  const { environment, isolation } = host;
  console.log(`Python ${environment.version}, isolation of sessions: ${isolation.level}.`);
  const missing = ['numpy', 'pandas', 'matplotlib'].filter((name) => environment.missing.includes(name));
  if (missing.length > 0) {
    console.log(
      `Skipping the analysis and the plot, which need ${missing.join(', ')}. Run \`vivarium setup\` to install them.`,
    );
    return;
  }
  const analysis = await show('analysis.py', 'An analysis with pandas');
  report(await host.runOnce(analysis));
  await plot(host);
}

async function plot(host: Host): Promise<void> {
  const code = await show('plot-to-file.py', 'A plot, saved in the session and copied out of it');
  await using session = await host.createSession();
  report(await session.runCode(code));
  const copy = path.join(await mkdtemp(path.join(tmpdir(), 'vivarium-tour-')), 'plot.png');
  await copyFile(path.join((await session.info()).workspace, 'plot.png'), copy);
  console.log(`copied to ${copy}`);
}

/** Prints a heading and the code, and returns the code. */
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

  npx node src/cli/main.ts repl                      use a session interactively; try to crash it
  npx node src/cli/main.ts run examples/analysis.py  run a program
  npx node src/cli/main.ts doctor                    see how sessions are isolated on this machine
  npm test                                           run the tests
`);
}

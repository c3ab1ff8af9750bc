/** Measures what the design promises, side by side with ipykernel and with a plain Python process, in one run. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parseConfig } from '../src/config.ts';
import { choosePython } from '../src/host/local/python.ts';
import { installBeside } from '../tools/side-environment.ts';
import { openHost, type Bench } from './bench.ts';
import { Ipykernel } from './peers/ipykernel.ts';
import { describeMachine, toMarkdown, type Row } from './report.ts';
import { measureBusy } from './rows/busy.ts';
import { measureCommandLine } from './rows/command-line.ts';
import { measureCores } from './rows/cores.ts';
import { measureCrowd } from './rows/crowd.ts';
import { measureLive } from './rows/live.ts';
import { measureMemory, weighIpykernel } from './rows/memory.ts';
import { measureOnce } from './rows/once.ts';
import { measureOutput } from './rows/output.ts';
import { measureRecovery } from './rows/recovery.ts';
import { measureServer } from './rows/server.ts';
import { measureStart } from './rows/start.ts';
import { measureState } from './rows/state.ts';

const USAGE = 'Usage: npm run bench -- [--quick] [--sessions N] [--only NAME,...] [--json FILE]';
const SESSIONS = { quick: 20, full: 1000 };

process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined) return 2;
  const config = parseConfig({});
  const environment = await choosePython(config);
  const machine = describeMachine(environment);
  await using stack = new AsyncDisposableStack();
  const peers = await installBeside({
    name: 'bench-peers',
    requirementsFile: path.join(import.meta.dirname, 'peers', 'requirements.txt'),
    dataDir: config.dataDir,
    sessions: environment,
    say,
  });
  if ('problem' in peers) say(`there is nothing to compare with: ${peers.problem}`);
  const ipykernel =
    'python' in peers ? stack.use(await Ipykernel.start(peers.python, environment.cacheDir)) : undefined;
  if (ipykernel) say('ipykernel: memory');
  const weights = await (ipykernel && weighIpykernel(ipykernel, options.isQuick));
  const host = stack.use(await openHost());
  const bench: Bench = {
    ...options,
    environment,
    python: environment.python,
    peerPython: 'python' in peers ? peers.python : undefined,
    ipykernel,
    ipykernelProblem: 'problem' in peers ? 'not installed' : undefined,
    host,
  };
  const { rows, failures } = await measureAll(options.only, {
    live: () => measureLive(bench),
    state: () => measureState(bench),
    start: () => measureStart(bench),
    once: () => measureOnce(bench),
    recovery: () => measureRecovery(bench),
    cores: () => measureCores(bench),
    memory: () => measureMemory(bench, weights),
    output: () => measureOutput(bench),
    'command-line': () => measureCommandLine(bench),
    busy: () => measureBusy(bench),
    server: () => measureServer(bench),
    crowd: () => measureCrowd(bench),
  });
  console.log(toMarkdown(machine, rows));
  const report = { machine, isQuick: options.isQuick, peers, rows, failures };
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(report, undefined, 2)}\n`);
  return failures.length === 0 ? 0 : 1;
}

/** A promise that is not held is a row of the table; a row that cannot be measured is a failure. */
async function measureAll(
  only: readonly string[] | undefined,
  parts: Readonly<Record<string, () => Promise<Row[]>>>,
): Promise<{ rows: Row[]; failures: string[] }> {
  const rows: Row[] = [];
  const failures: string[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (only !== undefined && !only.includes(name)) continue;
    const startedAt = performance.now();
    try {
      rows.push(...(await measure()));
      say(`${name}: measured in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      say(`FAILED ${failures.at(-1)}`);
    }
  }
  return { rows, failures };
}

interface Options {
  readonly isQuick: boolean;
  readonly sessions: number;
  readonly only: readonly string[] | undefined;
  readonly json: string | undefined;
}

function readOptions(): Options | undefined {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        sessions: { type: 'string' },
        only: { type: 'string' },
        json: { type: 'string' },
      },
    });
    const sessions = Number(values.sessions ?? (values.quick ? SESSIONS.quick : SESSIONS.full));
    if (!Number.isInteger(sessions) || sessions < 1) throw new TypeError('--sessions takes a number from 1');
    return { isQuick: values.quick, sessions, only: values.only?.split(','), json: values.json };
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return undefined;
  }
}

function say(text: string): void {
  console.error(text);
}

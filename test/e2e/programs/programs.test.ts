/**
 * Programs as models send them, run in sessions and in real kernels of IPython with the same libraries. Each difference is
 * listed with its reason in differences.ts; one that is not listed fails, and so does a listed one that is gone.
 *
 * The cells of a program are between its lines `# %%`. `localhost:8000` stands for the server in pages.ts.
 */
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeAll, expect, onTestFinished, test, type TestContext } from 'vitest';
import { createHost } from '../../../src/index.ts';
import { installNotebookTools, type NotebookTools } from '../../support/notebook-tools.ts';
import { differences } from './compare.ts';
import { LISTED } from './differences.ts';
import { answer } from './pages.ts';
import { inKernels, inSessions, PRELOAD, type Program } from './run.ts';

const INSTALL_TIMEOUT_MS = 360_000;
const TIMEOUT_MS = 300_000;
const FOLDER = path.join(import.meta.dirname, 'cells');
const PROGRAMS = globSync('*/*.py', { cwd: FOLDER }).toSorted().map(readProgram);

let tools: NotebookTools | { readonly problem: string };
beforeAll(async () => {
  tools = await installNotebookTools();
}, INSTALL_TIMEOUT_MS);

test('there are at least 60 programs', () => {
  expect(new Set(PROGRAMS.map(({ name }) => name)).size).toBeGreaterThanOrEqual(60);
});

test('programs give in a session what they give in a kernel', { timeout: TIMEOUT_MS }, async (context) => {
  const { python, matplotlibDir } = toolsOr(context);
  const port = await startServer();
  await using host = await createHost({ preload: PRELOAD });
  const [ours, theirs] = await Promise.all([
    inSessions(host, PROGRAMS, port),
    inKernels(python, PROGRAMS, { port, matplotlibDir }),
  ]);
  const found = PROGRAMS.flatMap(({ name }) => differences(name, ours.get(name), theirs.get(name)));
  const listed = LISTED.flatMap(({ where }) => where);
  expect(found.filter(({ where }) => !listed.includes(where))).toEqual([]);
  expect(listed.filter((where) => !found.some((difference) => difference.where === where))).toEqual([]);
});

function readProgram(file: string): Program {
  const text = readFileSync(path.join(FOLDER, file), 'utf8');
  return { name: path.basename(file, '.py'), cells: text.split(/^# %%\n/mu) };
}

async function startServer(): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function toolsOr(context: TestContext): NotebookTools {
  if (!('problem' in tools)) return tools;
  if (process.env['CI'] === 'true') throw new Error(tools.problem);
  return context.skip(`NOT COMPARED WITH IPYTHON, which could not be installed: ${tools.problem}`);
}

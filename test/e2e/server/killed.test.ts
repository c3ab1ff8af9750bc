/** A server that is killed again and again in the middle of its work. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import type { Execution } from '../../../src/execution/execution.ts';
import { KeyStore } from '../../../src/server/access/keys.ts';
import { descendants, isRunning } from '../engine/processes.ts';
import { Memory, openMarking, resend, useUntilGone, type MarkedRequest } from './busy-clients.ts';
import { askAs, type Ask } from './served.ts';

const PROGRAM = path.join(import.meta.dirname, 'programs/serving.ts');
const ROUNDS = 20;
/** Usually it is killed at a random moment within this time, and every few rounds only after every client got something done. */
const LONGEST_MS = 700;
const PATIENT_EVERY = 5;
const GONE_MS = 5000;
const FREE = { requestsPerSecond: null, maxSessions: null, maxRuns: null };

interface Place {
  readonly directory: string;
  readonly dataDir: string;
  readonly python: string;
  /** What sessions may mount. */
  readonly shared: string;
}

async function makePlace(): Promise<Place> {
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
  const directory = await mkdtemp(path.join(tmpdir(), 'viv-killed-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const place = { directory, dataDir: path.join(directory, 'data'), shared: path.join(directory, 'shared') };
  for (const each of [place.dataDir, place.shared, path.join(directory, 'tmp')]) mkdirSync(each);
  return { ...place, python: environment.python };
}

async function start({ directory, dataDir, python, shared }: Place) {
  const env = { ...process.env, TMPDIR: path.join(directory, 'tmp') };
  const child = fork(PROGRAM, [dataDir, python, shared], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  onTestFinished(() => kill(child));
  const [url] = (await once(child, 'message')) as [string];
  return { child, url };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Processes that have the directory in their command or among their mounts, whoever their parents are by now. */
function processesOn(directory: string): string[] {
  return readdirSync('/proc').filter(
    (pid) =>
      /^\d+$/.test(pid) &&
      ['cmdline', 'mountinfo'].some((name) => {
        try {
          return readFileSync(`/proc/${pid}/${name}`, 'utf8').includes(path.basename(directory));
        } catch {
          return false; // it has just ended
        }
      }),
  );
}

/** The times that the code of each request has run. */
function marksIn(shared: string): Map<string, number> {
  const lines = readFileSync(path.join(shared, 'marks'), 'utf8').trimEnd().split('\n');
  return new Map(
    Map.groupBy(lines, (line) => line)
      .entries()
      .map(([line, all]) => [line, all.length]),
  );
}

test(`a server that is killed ${ROUNDS} times leaves no process, forgets nothing, and runs nothing twice`, async () => {
  const place = await makePlace();
  using keys = await KeyStore.open(place.dataDir);
  const { secret } = await keys.add({ name: 'ada', role: 'client', ...FREE });
  const memory = new Memory();
  let checked = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const { child, url } = await start(place);
    const ask = askAs(url, { authorization: `Bearer ${secret}` });
    checked = await checkRequests(ask, place, memory, checked);
    const busy = Promise.withResolvers<void>();
    const gone = useUntilGone({ ask, memory, round, shared: place.shared }, busy.resolve);
    if (round % PATIENT_EVERY === 0) await Promise.race([busy.promise, gone]);
    await sleep(Math.random() * LONGEST_MS);
    const family = descendants(child.pid);
    expect(processesOn(place.directory)).toContain(String(child.pid)); // so that none later says something
    await kill(child);
    await gone;
    await expect
      .poll(() => [...family.filter(isRunning), ...processesOn(place.directory)], { timeout: GONE_MS })
      .toEqual([]);
  }
  const { child, url } = await start(place);
  const ask = askAs(url, { authorization: `Bearer ${secret}` });
  await checkRequests(ask, place, memory, checked);
  await checkThings(ask, memory);
  child.disconnect();
  await once(child, 'exit');
  expect(readdirSync(path.join(place.dataDir, 'sessions'))).toEqual([]);
  expect(readdirSync(path.join(place.directory, 'tmp'))).toEqual([]);
}, 240_000);

/** Sends all requests since the last time again, although their sessions are there again. Returns how many are known. */
async function checkRequests(ask: Ask, { shared }: Place, memory: Memory, from: number): Promise<number> {
  const requests = memory.requests.slice(from);
  if (requests.length === 0) return from;
  const sessions = new Set(requests.flatMap(({ where }) => /sessions\/(.+)\/runs/.exec(where)?.[1] ?? []));
  for (const id of sessions) await openMarking({ ask, shared }, id);
  const answers = await Promise.all(requests.map((request) => resend(ask, request)));
  for (const id of sessions) await ask('DELETE', `/v1/sessions/${id}`);
  const marks = marksIn(shared);
  for (const [index, request] of requests.entries()) {
    const answer = answers[index];
    expect(answer, request.key).toMatchObject(expectedFor(request));
    const times = marks.get(request.key) ?? 0;
    expect(answer?.status === 200 ? [1] : [0, 1], request.key).toContain(times);
  }
  return memory.requests.length;
}

/** What was answered is answered again. What was not has run, runs now for the first time, or is not known. */
function expectedFor({ answer }: MarkedRequest): object {
  if (answer !== undefined) return { status: 200, body: answer.body };
  return { status: expect.toBeOneOf([200, 409]) as unknown };
}

async function checkThings(ask: Ask, memory: Memory): Promise<void> {
  const { executions, artifacts, approvals } = memory;
  for (const execution of executions) {
    expect((await ask('GET', `/v1/runs/${execution.id}`)).body).toMatchObject({ status: 'ended', execution });
  }
  for (const { id, content } of artifacts) {
    expect((await ask('GET', `/v1/artifacts/${id}/content`)).body).toBe(content);
  }
  for (const id of approvals)
    expect((await ask('GET', `/v1/approvals/${id}`)).body).toMatchObject({ id, status: 'pending' });
  const decided = await ask('POST', `/v1/approvals/${approvals[0]}/decision`, { body: { type: 'approve' } });
  expect(decided).toMatchObject({ status: 200, body: { status: 'completed' } });
  await checkNotebooks(ask, executions);
  expect(Math.min(executions.length, artifacts.length, approvals.length)).toBeGreaterThanOrEqual(
    ROUNDS / PATIENT_EVERY,
  );
}

async function checkNotebooks(ask: Ask, executions: readonly Execution[]): Promise<void> {
  for (const [id, runs] of Map.groupBy(executions, ({ sessionId }) => sessionId)) {
    const { cells } = (await ask('GET', `/v1/sessions/${id}/notebook`)).body as { cells: unknown[] };
    expect(cells.length, id).toBeGreaterThanOrEqual(runs.length);
  }
}

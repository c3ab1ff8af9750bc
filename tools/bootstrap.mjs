/**
 * Entry of every npm script. Installs what is missing (packages, Python environment), then runs the task.
 * Plain JavaScript without dependencies, because it runs on an older Node and before anything is installed.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TASKS } from './tasks.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MODULES = path.join(ROOT, 'node_modules');
const LOCK = path.join(ROOT, '.bootstrap.lock');
const LOCK_EXPIRES_MS = 15 * 60_000;

const [name = '', ...args] = process.argv.slice(2);
const task = Object.hasOwn(TASKS, name) ? TASKS[name] : undefined;
if (!task) fail(`Unknown task "${name}". Known: ${Object.keys(TASKS).join(', ')}`);

process.chdir(ROOT);
if (isInstallNeeded()) await withLock(install);
process.env.PATH = [path.join(MODULES, '.bin'), path.dirname(findNode()), process.env.PATH].join(path.delimiter);
if (task.needsPython) await withLock(() => setUpPython(task.setUp ?? []));
process.exitCode = await task.run({ run, args });

/** npm writes the hidden lockfile last, so an interrupted installation has none. */
function isInstallNeeded() {
  const installed = statSync(path.join(MODULES, '.package-lock.json'), { throwIfNoEntry: false });
  return !installed || installed.mtimeMs < statSync('package-lock.json').mtimeMs;
}

async function install() {
  if (!isInstallNeeded()) return; // another invocation installed them while this one waited
  console.error('Installing packages (npm ci) ...');
  const startedAt = Date.now();
  // `npm ci` deletes node_modules, so npm must not run on the Node in there.
  const PATH = process.env.PATH.split(path.delimiter).filter((entry) => !entry.startsWith(MODULES));
  await required('npm', ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'], {
    env: { ...process.env, PATH: PATH.join(path.delimiter) },
  });
  console.error(`Packages installed in ${((Date.now() - startedAt) / 1000).toFixed(0)} s`);
}

function findNode() {
  const bundled = path.join(MODULES, `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(bundled)) return bundled;
  if (Number.parseInt(process.versions.node, 10) >= 24) return process.execPath;
  return fail(`Node 24 or later is needed; this is ${process.version}. Install it and run the command again.`);
}

/** Quick and silent if the environment exists. The compile cache halves its start time. */
async function setUpPython(options) {
  const NODE_COMPILE_CACHE = path.join(MODULES, '.cache', 'node');
  await required('node', ['src/cli/main.ts', 'setup', ...options], { env: { ...process.env, NODE_COMPILE_CACHE } });
}

/** Lets one invocation at a time change the installation. A lock whose owner has died is ignored. */
async function withLock(work) {
  for (let hasReported = false; !takeLock(); hasReported = true) {
    if (!hasReported) console.error('Waiting for another installation in this folder to finish ...');
    await sleep(200);
  }
  const release = () => rmSync(LOCK, { recursive: true, force: true });
  process.once('exit', release);
  await work();
  process.off('exit', release);
  release();
}

function takeLock() {
  try {
    mkdirSync(LOCK);
    writeFileSync(path.join(LOCK, 'pid'), String(process.pid));
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  if (isLockStale()) discardLock();
  return false;
}

function isLockStale() {
  try {
    const ageMs = Date.now() - statSync(LOCK).mtimeMs;
    if (ageMs > LOCK_EXPIRES_MS) return true;
    if (ageMs < 1000) return false; // its owner may not have written its pid yet
    process.kill(Number(readFileSync(path.join(LOCK, 'pid'), 'utf8')) || Number.NaN, 0);
    return false;
  } catch (error) {
    return error.code !== 'EPERM'; // EPERM: alive, but of another user
  }
}

/** Renames it first, so that only one of two invocations discards the same stale lock. */
function discardLock() {
  const discarded = `${LOCK}.${process.pid}`;
  try {
    renameSync(LOCK, discarded);
    rmSync(discarded, { recursive: true, force: true });
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

async function required(command, commandArgs, options) {
  const code = await run(command, commandArgs, options);
  if (code !== 0) process.exit(code);
}

/** Resolves to the exit code, 128 + n for a signal. With `onOutput`, output does not go to the terminal. */
function run(command, commandArgs, { onOutput, ...options } = {}) {
  return new Promise((resolve) => {
    const stdio = onOutput ? ['ignore', 'pipe', 'pipe'] : 'inherit';
    const child = spawn(command, commandArgs, { stdio, ...options });
    child.stdout?.on('data', onOutput);
    child.stderr?.on('data', onOutput);
    // A terminal sends Ctrl-C to the child as well, so wait for it to end. SIGTERM reaches only this process.
    const ignore = () => {};
    const forward = () => child.kill('SIGTERM');
    process.on('SIGINT', ignore).on('SIGTERM', forward);
    const settle = (code) => {
      process.off('SIGINT', ignore).off('SIGTERM', forward);
      resolve(code);
    };
    child.once('error', (error) => {
      console.error(`Cannot run ${command}: ${error.message}`);
      settle(127);
    });
    child.once('close', (code, signal) => settle(code ?? 128 + constants.signals[signal]));
  });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

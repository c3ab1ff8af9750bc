/** The REPL at a terminal: what keys do while cells run, and what Tab offers. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { defaultDataDir } from '../../src/data-dir.ts';
import { findEnvironment } from '../../src/environment/find.ts';
import { ENV, MAIN } from '../support/command-line.ts';
import { Terminal } from '../support/terminal.ts';
import { descendants, type Process } from './engine/processes.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
/** Only after it is what is typed for the next line. */
const PROMPT = '>>> \u001b[5G';

/** A REPL with a data directory of its own, at its first prompt. */
async function startRepl(...flags: readonly string[]): Promise<Terminal> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'vivarium-repl-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const python = (await findEnvironment(defaultDataDir(process.env)))?.python ?? 'python3';
  const terminal = new Terminal([MAIN, 'repl', '--data-dir', dataDir, '--python', python, ...flags], {
    ...ENV,
    TERM: 'xterm',
  });
  await terminal.until(PROMPT);
  return terminal;
}

/** Leaves at the prompt, and returns the exit code. */
function leave(terminal: Terminal): Promise<number | null> {
  terminal.type(CTRL_D);
  return terminal.ended();
}

test('Ctrl-D while a cell runs leaves after the cell, whose answer is shown', async () => {
  const terminal = await startRepl();
  terminal.type('import time; print("be" + "gun"); time.sleep(1); 6 * 7\r');
  await terminal.until('begun');
  terminal.type(CTRL_D);
  expect(await terminal.until('42\r\n')).not.toContain('error');
  expect(await terminal.ended()).toBe(0);
  expect(terminal.rest).not.toContain('error');
});

test('lines that were typed before Ctrl-D are run before it leaves', async () => {
  const terminal = await startRepl();
  terminal.type('import time; print("be" + "gun"); time.sleep(1); x = 41\r');
  await terminal.until('begun');
  terminal.type(`x + 1\r${CTRL_D}`);
  await terminal.until('42\r\n');
  expect(await terminal.ended()).toBe(0);
});

test('Ctrl-C still stops the cell after Ctrl-D', async () => {
  const terminal = await startRepl();
  terminal.type('import time; print("be" + "gun"); time.sleep(60)\r');
  await terminal.until('begun');
  terminal.type(CTRL_D);
  await terminal.until('leaving after this cell');
  terminal.type(CTRL_C);
  await terminal.until('KeyboardInterrupt');
  expect(await terminal.ended()).toBe(0);
});

/** Types up to a Tab, and waits for what it completes. */
async function tab(terminal: Terminal, typed: string, completed: string): Promise<void> {
  terminal.type(`${typed}\t`);
  await terminal.until(`${typed}${completed}`);
}

test('Tab completes variables, attributes of live objects, keys, modules and commands', async () => {
  const terminal = await startRepl();
  terminal.type('measurements = {"north": 41}\r');
  await terminal.until(PROMPT);
  await tab(terminal, 'meas', 'urements');
  await tab(terminal, '["no', 'rth"]');
  terminal.type(' + 1\r');
  await terminal.until('42\r\n');
  await terminal.until(PROMPT);
  await tab(terminal, 'import colors', 'ys');
  await tab(terminal, '; print(measurements.ite', 'ms');
  terminal.type('())\r');
  await terminal.until("dict_items([('north', 41)])");
  await terminal.until(PROMPT);
  await tab(terminal, 'colorsys.rgb_to_y', 'iq');
  terminal.type('(0, 0, 0)\r');
  await terminal.until('(0.0, 0.0, 0.0)');
  await terminal.until(PROMPT);
  await tab(terminal, '%va', 'rs');
  terminal.type('\r');
  await terminal.until('dict of 1');
  await terminal.until(PROMPT);
  expect(await leave(terminal)).toBe(0);
});

test('Tab twice lists what fits', async () => {
  const terminal = await startRepl();
  terminal.type('table = {}\r');
  await terminal.until(PROMPT);
  await tab(terminal, 'table.po', 'p');
  terminal.type('\t');
  expect(await terminal.until('popitem')).toMatch(/pop\s+popitem/);
  terminal.type(CTRL_C);
  await terminal.until('\n>>> ');
  expect(await leave(terminal)).toBe(0);
});

test('Tab indents a blank line, also in text that is pasted', async () => {
  const terminal = await startRepl();
  terminal.type('for number in range(2):\r\tprint(number + 41)\r\r');
  await terminal.until('41\r\n42\r\n');
  await terminal.until(PROMPT);
  expect(await leave(terminal)).toBe(0);
});

test('names of a hostile session give the terminal no orders', async () => {
  const terminal = await startRepl();
  const names = String.raw`globals()["evil\x1b[2J"] = evil_a = evil_b = 1; evil_c = {"key\x1b[2J": 1, "keyed": 2}`;
  terminal.type(`${names}\r`);
  await terminal.until(PROMPT);
  await tab(terminal, 'evi', 'l_');
  terminal.type('\t');
  const listed = await terminal.until('evil_c');
  expect(listed).toMatch(/evil_a\s+evil_b/);
  await tab(terminal, 'c["k', 'eyed"]');
  terminal.type('\r');
  expect(listed + (await terminal.until('2\r\n'))).not.toContain('\u001b[2J');
  await terminal.until(PROMPT);
  expect(await leave(terminal)).toBe(0);
});

test('a session that does not answer keeps nobody from typing', async () => {
  const terminal = await startRepl();
  terminal.type('import os, threading; threading.Timer(0.1, os.kill, (os.getpid(), 19)).start()\r');
  await terminal.until(PROMPT);
  const isStopped = ({ pid }: Process): boolean => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  await expect.poll(() => descendants(terminal.pid).some(isStopped)).toBe(true);
  terminal.type('pri\t');
  await terminal.until('pri');
  const start = performance.now();
  terminal.type('nt("still there")');
  await terminal.until('still there');
  expect(performance.now() - start).toBeLessThan(3000);
  terminal.type(CTRL_C);
  await terminal.until('\n>>> ');
  expect(await leave(terminal)).toBe(0);
});

test('--file puts copies of files where cells find them', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-given-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await writeFile(path.join(directory, 'a.csv'), '6\n7\n');
  const terminal = await startRepl('--file', path.join(directory, 'a.csv'));
  terminal.type('open("a.csv").read().split()\r');
  await terminal.until("['6', '7']");
  await terminal.until(PROMPT);
  expect(await leave(terminal)).toBe(0);
});

/** One engine and one action for a test file; importing it starts them and closes them at the end. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import { IPythonInterpreter, type ActionReturn, type IPythonOptions } from '../../../src/tools.ts';

export let engine: Host;
export let workDir: string;
export let shared: IPythonInterpreter;
beforeAll(async () => {
  engine = await createHost();
  workDir = await mkdtemp(path.join(os.tmpdir(), 'ipython-'));
  shared = new IPythonInterpreter({ engine, workDir });
});
afterAll(async () => {
  await engine?.close();
  await rm(workDir, { recursive: true, force: true });
});

export function open(options: IPythonOptions = {}): IPythonInterpreter {
  const host = new IPythonInterpreter({ engine, workDir, ...options });
  onTestFinished(() => host.close());
  return host;
}

export function textOf({ result, errmsg }: ActionReturn): string | undefined {
  return errmsg ?? result?.[0]?.content;
}

export async function run(command: string): Promise<string | undefined> {
  return textOf(await shared.run(command));
}

/** One host and one action for a test file; importing it starts them and closes them at the end. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import { IPythonInterpreter, type ActionReturn, type IPythonOptions } from '../../../src/tools.ts';

export let host: Host;
export let workDir: string;
export let shared: IPythonInterpreter;
beforeAll(async () => {
  host = await createHost();
  workDir = await mkdtemp(path.join(os.tmpdir(), 'ipython-'));
  shared = new IPythonInterpreter({ host, workDir });
});
afterAll(async () => {
  await host?.close();
  await rm(workDir, { recursive: true, force: true });
});

export function open(options: IPythonOptions = {}): IPythonInterpreter {
  const interpreter = new IPythonInterpreter({ host, workDir, ...options });
  onTestFinished(() => interpreter.close());
  return interpreter;
}

export function textOf({ result, errmsg }: ActionReturn): string | undefined {
  return errmsg ?? result?.[0]?.content;
}

export async function run(command: string): Promise<string | undefined> {
  return textOf(await shared.run(command));
}

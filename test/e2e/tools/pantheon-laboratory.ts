/** One host for the toolsets of a test file; importing it starts the host and closes it at the end. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import { PythonInterpreterToolSet, type ToolSetOptions } from '../../../src/tools.ts';

export let host: Host;
beforeAll(async () => {
  host = await createHost();
});
afterAll(() => host?.close());

export function open(options: Partial<ToolSetOptions> = {}): PythonInterpreterToolSet {
  const toolset = new PythonInterpreterToolSet({ name: 'python', host, workdir: false, ...options });
  onTestFinished(() => toolset.close());
  return toolset;
}

/** A directory that every session may write to. */
export async function sharedDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'toolset-'));
  await chmod(directory, 0o777);
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** E2B's SDK for Python, in an environment of its own. */
import path from 'node:path';
import { parseConfig } from '../../src/config.ts';
import { choosePython } from '../../src/host/local/python.ts';
import { installBeside, type Installation } from '../../tools/side-environment.ts';

const REQUIREMENTS = path.join(import.meta.dirname, 'e2b-requirements.txt');

export async function installE2bSdk(): Promise<Installation> {
  const config = parseConfig({});
  return installBeside({
    name: 'e2b-sdk',
    requirementsFile: REQUIREMENTS,
    dataDir: config.dataDir,
    sessions: await choosePython(config),
    say: () => {},
  });
}

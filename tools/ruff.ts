/** Runs ruff on the Python side. npm has no package of it, so it is installed into an environment of its own first. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { defaultDataDir } from '../src/data-dir.ts';
import { findEnvironment } from '../src/environment/find.ts';
import { installBeside } from './side-environment.ts';

const dataDir = defaultDataDir(process.env);
const sessions = await findEnvironment(dataDir);
if (sessions === undefined) throw new Error('There is no Python for sessions yet. Run `npm run setup` first.');
const installation = await installBeside({
  name: 'tools-ruff',
  requirementsFile: path.join(import.meta.dirname, 'ruff-requirements.txt'),
  dataDir,
  sessions,
  say: (text) => console.error(text),
});
if ('problem' in installation) throw new Error(`ruff cannot be installed: ${installation.problem}`);
const ruff = path.join(path.dirname(installation.python), 'ruff');
const { status } = spawnSync(ruff, process.argv.slice(2), { stdio: 'inherit' });
process.exitCode = status ?? 1;

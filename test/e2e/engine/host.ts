/** A host in a process of its own: an engine on the given data directory with one session, until its stdin ends. */
import { parseConfig } from '../../../src/config.ts';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { startLocalEngine } from '../../../src/engine/local/engine.ts';
import { keepAlive } from '../../../src/process-life.ts';
import { findEnvironment } from '../../../src/environment/find.ts';

const environment = await findEnvironment(defaultDataDir(process.env));
if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
const config = parseConfig({ preload: [], poolSize: 0, dataDir: process.argv[2] ?? '' });
await using engine = await keepAlive(startLocalEngine({ config, ...environment }));
const { limits } = config;
const usual = { mounts: [], network: false, readOnly: false, env: {}, twins: true };
const session = await keepAlive(engine.open({ id: 'only', limits, ...usual }));
process.stdout.write(`${session.workspace.path}\n`);
for await (const _ of process.stdin); // until the parent process closes it
await keepAlive(engine.close());

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from '../../src/remote/connect.ts';
import { startServer } from '../../src/server/server.ts';
import type { StartTestbed } from './context.ts';
import { conformance } from './suite.ts';
import { hostTestbed } from './testbed.ts';

/** A server in this process, and a host that is connected to it by a real socket. */
const start: StartTestbed = async (caps) => {
  await using stack = new AsyncDisposableStack();
  const { host: served } = stack.use(await hostTestbed({ ...caps }));
  const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-server-'));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const server = stack.use(await startServer({ host: served, hostOptions: { dataDir }, drainMs: 0 }));
  const host = stack.use(await connect(server.url));
  const all = stack.move();
  return { host, [Symbol.asyncDispose]: () => all.disposeAsync() };
};

conformance('sessions on a server', start, {
  restoresState: true,
  rollsBack: true,
  level: 'namespaces',
  tracebackOf: (line) => new RegExp(`File "<cell \\d+>", line ${line}, in <module>`, 'u'),
  noticesDeathMs: 2000,
  runsCommands: true,
  ownsSessions: false,
});

import { describe, expect, test } from 'vitest';
import { installJupyter, TestJupyterServer } from '../support/jupyter-server.ts';
import type { StartTestbed } from './context.ts';
import { conformance } from './suite.ts';
import { hostTestbed } from './testbed.ts';

const installation = await installJupyter();
const python = 'python' in installation ? installation.python : '';

test.runIf('problem' in installation)('a Jupyter server can be installed', (context) => {
  const reason = 'problem' in installation ? installation.problem : '';
  if (process.env['CI'] !== 'true') context.skip(`THE JUPYTER ENGINE IS NOT TESTED: ${reason}`);
  expect.fail(reason);
});

const start: StartTestbed = async (caps) => {
  const server = await TestJupyterServer.start(python);
  return hostTestbed({ ...caps, engine: { jupyter: server.access } }, server);
};

describe.runIf('python' in installation)('On a Jupyter server', () => {
  conformance('the Jupyter engine', start, {
    restoresState: false,
    rollsBack: false,
    level: 'jupyter',
    tracebackOf: (line) => new RegExp(`Cell In\\[\\d+\\], line ${line}\\n`, 'u'),
    noticesDeathMs: 15_000, // the server looks every three seconds; the time limit is twice that
    runsCommands: false,
    ownsSessions: true,
  });
});

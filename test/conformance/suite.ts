/**
 * What every host must do, wherever its sessions live. An implementation provides a factory. Where implementations
 * differ by nature, a capability says so, and the suite demands the other behaviour instead: nothing is left untested.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import type { Session, SessionOptions } from '../../src/index.ts';
import { CAPS, LIMITS, type Capabilities, type Context, type StartTestbed, type Testbed } from './context.ts';
import { testArtifacts, testClients, testKeys, testLife } from './host-cases.ts';
import { testCommands, testFiles, testResults, testState, testStopping, testTurns } from './session-cases.ts';

const PARTS = {
  results: testResults,
  stopping: testStopping,
  state: testState,
  files: testFiles,
  turns: testTurns,
  commands: testCommands,
  artifacts: testArtifacts,
  keys: testKeys,
  clients: testClients,
  life: testLife,
};

/** Declares the suite for one implementation. */
export function conformance(subject: string, start: StartTestbed, capabilities: Capabilities): void {
  describe(`a host with ${subject}`, () => {
    let bed: Testbed;
    let shared: Session;
    const open = (options: SessionOptions = {}): Promise<Session> =>
      bed.host.createSession({ limits: LIMITS, ...options });
    beforeAll(async () => {
      bed = await start(CAPS);
      shared = await open();
    });
    afterAll(() => bed?.[Symbol.asyncDispose]());
    const context: Context = { start, capabilities, host: () => bed.host, shared: () => shared, open };
    describe.each(Object.entries(PARTS))('%s', (_, declare) => {
      declare(context);
    });
  });
}

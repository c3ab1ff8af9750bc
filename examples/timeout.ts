/** A run that takes too long is interrupted, and the session goes on. */
import { createHost } from '../src/index.ts';

await using host = await createHost({ preload: [] });
await using session = await host.createSession();

await session.runCode('seen = []');
const run = await session.runCode('while True: seen.append(len(seen))', { timeoutMs: 300 });
console.log('endless loop:   ', run.outcome);

const stubborn = await session.runCode(
  `
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True: pass
`,
  { timeoutMs: 300 },
);
console.log('deaf to signals:', stubborn.outcome.status, '· state:', stubborn.state.status);

const { results } = await session.runCode('len(seen) > 1000');
console.log('kept what the first loop did:', results[0]?.data['text/plain']);

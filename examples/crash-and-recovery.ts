/** A crash of the interpreter itself costs nothing: a twin takes over with every variable. */
import { createHost } from '../src/index.ts';

await using host = await createHost({ preload: [] });
await using session = await host.createSession();

await session.runCode('x = 41');

const crash = await session.runCode('import ctypes; ctypes.string_at(0)');
console.log('the run:  ', crash.outcome);
console.log('the state:', crash.state.status, '·', crash.state.reason);

const { logs } = await session.runCode('print(x + 1)');
console.log('x + 1 is', logs.stdout.trim());

/** Python with a memory: a session keeps its variables from one run to the next. */
import { createHost } from '../src/index.ts';

await using host = await createHost();
await using session = await host.createSession();

await session.runCode('prices = [19.9, 5.5, 12.0]');
const { results, state } = await session.runCode('sum(prices) / len(prices)');
console.log('mean:', results[0]?.data['text/plain'], '· state:', state.status);

const { outcome, error } = await session.runCode('prices[10]');
console.log(outcome.status, '·', error?.name, '·', error?.value);

for await (const event of session.stream('for price in prices: print(price)')) {
  if (event.type === 'output') process.stdout.write(event.text);
}

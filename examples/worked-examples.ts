/** Runs the programs in `worked/` and shows what each of them gives besides its text. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createHost, forModel } from '../src/index.ts';

const programs = path.join(import.meta.dirname, 'worked');

await using host = await createHost();
for (const name of globSync('*.py', { cwd: programs }).toSorted()) {
  const code = readFileSync(path.join(programs, name), 'utf8');
  const execution = await host.runOnce(code, { resultVariable: 'summary' });
  console.log(`── ${name}\n${forModel(execution)}`);
  if (execution.value !== undefined) console.log('summary =', JSON.stringify(execution.value).slice(0, 200));
}

/**
 * `npm run mutants`: removes each documented feature in turn and looks whether a test that is named after it fails.
 * Arguments are ids or beginnings of ids (`-- P-13 L-`). See CONTRIBUTING.md.
 */
import { testFilesByRow } from '../../test/support/documented-rows.ts';
import { Copy } from './copy.ts';
import { MUTANTS } from './mutants.ts';

const COPIES = 2;
/** Listens on the port that a guide prints, so only one copy at a time can run it. */
const ALONE = 'test/e2e/service/seed.test.ts';
const wanted = process.argv.slice(2);
const rows = [...MUTANTS.keys()].filter((id) => wanted.length === 0 || wanted.some((start) => id.startsWith(start)));
const files = testFilesByRow();
const problems: string[] = [];
let survivors = 0;
let turn: Promise<unknown> = Promise.resolve();

await checkUnchanged();
const queue = [...rows];
await Promise.all(Array.from({ length: COPIES }, work));
for (const problem of problems) console.log(problem);
const killed = rows.length - survivors;
console.log(`${problems.length === 0 ? 'PASS' : 'FAIL'}: ${killed} of ${rows.length} mutants were noticed`);
process.exitCode = problems.length === 0 ? 0 : 1;

/** A test that fails anyway proves nothing. */
async function checkUnchanged(): Promise<void> {
  using copy = new Copy();
  const all = [...new Set(rows.flatMap((id) => files.get(id) ?? []))];
  const results = await copy.testWith(null, all, named(...rows));
  for (const { fullName } of results.filter(({ status }) => status === 'failed')) {
    problems.push(`fails without any change: ${fullName}`);
  }
  console.log(`${results.length} tests are named after ${rows.length} features`);
}

async function work(): Promise<void> {
  using copy = new Copy();
  for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
    const startedAt = performance.now();
    const verdict = await judge(copy, id).catch((error: unknown) => `broken: ${String(error)}`);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    console.log(`${id} ${verdict} (${seconds} s)`);
    if (verdict.startsWith('noticed')) continue;
    survivors += 1;
    problems.push(`${id} ${verdict}`);
  }
}

async function judge(copy: Copy, id: string): Promise<string> {
  const mutant = MUTANTS.get(id);
  if (mutant === undefined) return 'has no mutant';
  const test = (): ReturnType<Copy['testWith']> => copy.testWith(mutant, files.get(id) ?? [], named(id));
  const results = files.get(id)?.includes(ALONE) === true ? await inTurn(test) : await test();
  const failed = results.filter(({ status }) => status === 'failed');
  if (failed.length === 0) return `survived: without ${mutant.without}, all ${results.length} tests pass`;
  return `noticed: without ${mutant.without}, ${failed.length} of ${results.length} tests fail`;
}

function inTurn<T>(test: () => Promise<T>): Promise<T> {
  const done = turn.then(test);
  turn = done.catch(() => undefined); // its caller reports it
  return done;
}

function named(...ids: readonly string[]): RegExp {
  return new RegExp(String.raw`\b(?:${ids.join('|')})\b`, 'u');
}

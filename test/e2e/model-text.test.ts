/**
 * What a model reads about 30 programs and more, compared with a reviewed text beside each. `npm test -- model-text -u`
 * rewrites these texts. Read the difference as a model would before you keep it.
 *
 * A program has one run for each part between lines `# %%`. Its first line may set options of its session as JSON.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, forModel, type Host } from '../../src/index.ts';

const FOLDER = path.join(import.meta.dirname, 'model-text');
const PROGRAMS = globSync('*.py', { cwd: FOLDER }).toSorted();
const OPTIONS = /^# options: (\{.*\})\n/u;
/** Other versions draw tracebacks differently, and have other versions of the libraries. */
const REVIEWED_PYTHON = '3.13.';
/** An absolute path: where no word, address or other path goes on. */
const PATHS = /(?<![\w.:/<>])\/[A-Za-z][\w.-]*/gu;

let host: Host;
beforeAll(async () => {
  host = await createHost();
});
afterAll(() => host.close());

async function read(program: string): Promise<string> {
  const source = readFileSync(path.join(FOLDER, program), 'utf8');
  const options = JSON.parse(OPTIONS.exec(source)?.[1] ?? '{}') as object;
  await using session = await host.createSession(options);
  const texts: string[] = [];
  for (const code of source.replace(OPTIONS, '').split(/^# %%\n/mu)) texts.push(forModel(await session.runCode(code)));
  if (texts.length === 1) return `${texts[0]}\n`;
  return texts.map((text, index) => `--- run ${index + 1}\n${text}\n`).join('');
}

test('there are at least 30 programs', () => {
  expect(PROGRAMS.length).toBeGreaterThanOrEqual(30);
});

test.for(PROGRAMS)(
  'the text about %s is the reviewed one, and names no path of the host',
  async (program, { skip }) => {
    const text = await read(program);
    expect((text.match(PATHS) ?? []).filter((found) => found !== '/workspace')).toEqual([]);
    const { version } = host.environment;
    skip(!version.startsWith(REVIEWED_PYTHON), `the texts are those of Python ${REVIEWED_PYTHON}x, this is ${version}`);
    await expect(text).toMatchFileSnapshot(path.join(FOLDER, program.replace(/\.py$/u, '.txt')));
  },
);

/** One number after the other, at least 0 and below 1. The same seed gives the same numbers. */
function* numbersFrom(seed: number): Generator<number, never> {
  for (let state = seed; ;) yield (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

const STEPS = [
  (n: number) => `print("step ${n};")`,
  (n: number) => `print("step ${n};", end="")`,
  (n: number) => `print("step ${n};", file=sys.stderr)`,
  (n: number) => `display(Markdown("step ${n};"))`,
  (n: number) => `display("step ${n};")`,
  (n: number) => `plt.figure(); plt.plot([${n}]); plt.title("step ${n};"); plt.show()`,
];

test('whatever a program prints, displays and draws, in whatever order, is told in that order', async () => {
  await using session = await host.createSession();
  for (const seed of [1, 2, 3]) {
    const numbers = numbersFrom(seed);
    const steps = Array.from({ length: 40 }, (_, n) => {
      return STEPS[Math.floor(numbers.next().value * STEPS.length)]?.(n) ?? '';
    });
    const imports = 'import sys\nimport matplotlib.pyplot as plt\nfrom IPython.display import Markdown, display';
    const text = forModel(await session.runCode([imports, ...steps].join('\n')));
    const told = Array.from(text.matchAll(/step (\d+);/gu), ([, n]) => Number(n));
    expect(told, steps.join('\n')).toEqual(steps.map((_, n) => n));
  }
});

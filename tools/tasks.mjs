/** What each npm script does once everything is installed. Plain JavaScript, like the bootstrap that loads it. */
import { rmSync } from 'node:fs';

const RUFF = ['node', 'tools/ruff.ts'];
const CHECKS = {
  tsc: ['tsc', '--noEmit'],
  oxlint: ['oxlint', '--type-aware', '--deny-warnings'],
  oxfmt: ['oxfmt', '--check'],
  knip: ['knip', '--no-progress'],
  pyright: ['pyright'],
  ruff: [...RUFF, 'check', '--quiet', '--output-format', 'concise'],
  'ruff format': [...RUFF, 'format', '--check', '--quiet'],
};
const FIXES = [
  ['oxlint', '--type-aware', '--fix'],
  ['oxfmt'],
  [...RUFF, 'check', '--fix'],
  [...RUFF, 'format'],
  ['node', 'tools/reference/main.ts'],
];

/** `run` starts a command and resolves to its exit code; `args` came after the name of the script. */
export const TASKS = {
  // Both also work without libraries, so they do not wait for ever for a package index.
  start: {
    needsPython: true,
    setUp: ['--wait', '120'],
    run: ({ run, args }) => run('node', ['src/cli/main.ts', 'serve', ...args]),
  },
  tour: {
    needsPython: true,
    setUp: ['--wait', '120'],
    run: ({ run, args }) => run('node', ['examples/tour.ts', ...args]),
  },
  test: { needsPython: true, run: ({ run, args }) => run('vitest', ['run', ...args]) },
  check: { needsPython: true, run: check },
  fix: { needsPython: true, run: ({ run }) => sequence(run, FIXES) },
  build: { needsPython: false, run: build },
  bench: { needsPython: true, run: ({ run, args }) => run('node', ['bench/main.ts', ...args]) },
  chaos: { needsPython: true, run: ({ run, args }) => run('node', ['test/chaos/main.ts', ...args]) },
  fuzz: { needsPython: true, run: ({ run, args }) => run('node', ['test/fuzz/main.ts', ...args]) },
  siege: { needsPython: true, run: ({ run, args }) => run('node', ['test/siege/main.ts', ...args]) },
  'docs:check': { needsPython: true, run: ({ run, args }) => run('vitest', ['run', 'test/docs', ...args]) },
  mutants: { needsPython: true, run: ({ run, args }) => run('node', ['tools/mutants/main.ts', ...args]) },
  picture: { needsPython: true, run: ({ run }) => run('node', ['tools/picture.ts']) },
  vm: { needsPython: true, run: ({ run, args }) => run('node', ['tools/vm/main.ts', ...args]) },
  image: { needsPython: false, run: ({ run }) => run('bash', ['tools/prove-image.sh']) },
  setup: { needsPython: true, run: () => 0 },
};

async function check({ run }) {
  const results = await Promise.all(
    Object.entries(CHECKS).map(async ([tool, [command, ...args]]) => {
      const output = [];
      const code = await run(command, args, { onOutput: (chunk) => output.push(chunk) });
      console.log(code === 0 ? `ok      ${tool}` : `FAILED  ${tool}\n${Buffer.concat(output).toString().trimEnd()}\n`);
      return code;
    }),
  );
  const isClean = results.every((code) => code === 0);
  console.log(isClean ? 'PASS: all checks passed' : 'FAIL: see above; "npm run fix" repairs what can be repaired');
  return isClean ? 0 : 1;
}

function build({ run }) {
  rmSync('dist', { recursive: true, force: true });
  return sequence(run, [
    ['tsc', '-p', 'tsconfig.build.json'],
    ['node', 'tools/bundle.ts'],
    ['node', 'tools/entries.ts'],
    ['node', 'tools/types.ts'],
  ]);
}

async function sequence(run, commands) {
  for (const [command, ...args] of commands) {
    const code = await run(command, args);
    if (code !== 0) return code;
  }
  return 0;
}

/** Cells as models write them, run in a session and in IPython itself. What differs is listed with the reason. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, onTestFinished, test, type TestContext } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import { run, scrubEnvironment } from '../../../src/environment/command.ts';
import { choosePython } from '../../../src/host/local/python.ts';
import { createHost } from '../../../src/index.ts';
import { installBeside, type Installation } from '../../../tools/side-environment.ts';

const INSTALL_TIMEOUT_MS = 360_000;
const TIMEOUT_MS = 120_000;

interface Said {
  readonly out: string;
  readonly value: string | null;
  readonly error: string | null;
}

interface Difference {
  readonly cell: string;
  readonly because: string;
  readonly theirs: Partial<Said>;
  readonly ours: Partial<Said>;
}

const SAME = [
  '!echo hello',
  'x = 5\nfor i in range(2):\n    !echo {x + i} $x "{{x}}"',
  'files = !printf "b\\na\\n"\nfiles, files.s, files.n, files.sort(), files.grep("a")',
  '!false\n_exit_code',
  '!!echo listed',
  '%%bash\nfor i in 1 2; do\n  echo "it\'s $i"\ndone',
  '%%sh\nexit 3',
  '%%bash --out text --no-raise-error\necho kept\nexit 4',
  'text',
  '%%writefile mine.py\ndef f():\n    return 1',
  'import mine\nmine.f()',
  '%%writefile -a mine.py\ndef g():\n    return 2',
  'open("mine.py").read()',
  '%time 6 * 7',
  '%%time\ny = 3\ny * 2',
  '%timeit -n 10 -r 3 x + 1',
  'r = %timeit -o -q -n 4 -r 2 x + 1\nr.loops, r.repeat, len(r.all_runs)',
  '%%capture kept\nprint("a")\nimport sys; print("b", file=sys.stderr)',
  'kept.stdout, kept.stderr, str(kept)',
  'kept.show()',
  '%env HABIT=of mine',
  '%env HABIT',
  '!echo $HABIT',
  '%mkdir folder\n%cd -q folder\nimport os\nos.path.basename(os.getcwd())',
  '%cd -q ..\nhere = %pwd\nhere == os.getcwd()',
  '%who int',
  '%who_ls list int',
  '%%writefile program.py\nimport sys\nmade = sys.argv[1:]\nprint(__name__)',
  '%run program.py a "b c"\nmade',
  'import asyncio\nasync def f(i):\n    await asyncio.sleep(0.01)\n    return i\ntasks = [asyncio.create_task(f(i)) for i in range(3)]\nawait asyncio.gather(*tasks)',
  'late = asyncio.get_running_loop().create_task(f("late"))\nawait asyncio.sleep(0)',
  'await asyncio.sleep(0.1)\nlate.result()',
  'get_ipython().run_line_magic("who_ls", "str")',
  'get_ipython().getoutput("echo x; echo y")',
  'get_ipython().system("echo from system")',
  '%%time\n!echo timed',
  'def f(a):\n    !echo {a} $a\nf("local")',
  'print("100 %"); s = """\n!ls\n%pip\n"""\ns',
  '%reset -f\nsorted(name for name in globals() if name in ("x", "y", "r"))',
];

const DIFFERENT: readonly Difference[] = [
  {
    cell: '!echo {1 + 1} $NO_SUCH_NAME.',
    because: 'IPython leaves the whole command as it is if one `$name` is no variable; here that name alone is left',
    theirs: { out: '{1 + 1} .\n' },
    ours: { out: '2 .\n' },
  },
  {
    cell: '%no_such_magic',
    because: 'a wrong magic is found before the cell runs, like any error of syntax',
    theirs: { error: 'UsageError' },
    ours: { error: 'SyntaxError' },
  },
  {
    cell: '%%capture c\n1 / 0',
    because: 'IPython hides the error of a captured cell; a model that is not told goes on with wrong results',
    theirs: { error: null },
    ours: { error: 'ZeroDivisionError' },
  },
  {
    cell: 'asyncio_task = __import__("asyncio").create_task(__import__("asyncio").sleep(0, 1))\nasyncio_task.done()',
    because: 'a cell that only starts tasks runs in the event loop here, as in a Jupyter kernel; not in plain IPython',
    theirs: { error: 'RuntimeError' },
    ours: { value: 'False' },
  },
];

let installed: Installation;

beforeAll(async () => {
  const config = parseConfig({});
  installed = await installBeside({
    name: 'notebook-tools',
    requirementsFile: path.resolve('test/support/notebook-requirements.txt'),
    dataDir: config.dataDir,
    sessions: await choosePython(config),
    say: () => {},
  });
}, INSTALL_TIMEOUT_MS);

test('cells give in a session what they give in IPython', { timeout: TIMEOUT_MS }, async (context) => {
  const python = pythonOr(context);
  const cells = [...SAME, ...DIFFERENT.map(({ cell }) => cell)];
  const [ours, theirs] = await Promise.all([inSession(cells), inIPython(cells, python)]);
  const withCells = (said: readonly Said[]) => SAME.map((cell, index) => ({ cell, ...said[index] }));
  expect(withCells(ours)).toEqual(withCells(theirs));
  for (const [index, difference] of DIFFERENT.entries()) {
    const place = SAME.length + index;
    expect(theirs[place], difference.cell).toMatchObject(difference.theirs);
    expect(ours[place], `${difference.cell}: ${difference.because}`).toMatchObject(difference.ours);
  }
});

function pythonOr(context: TestContext): string {
  if ('python' in installed) return installed.python;
  if (process.env['CI'] === 'true') throw new Error(installed.problem);
  return context.skip(`NOT COMPARED WITH IPYTHON, which could not be installed: ${installed.problem}`);
}

async function inSession(cells: readonly string[]): Promise<Said[]> {
  await using host = await createHost({ preload: [], poolSize: 0 });
  await using session = await host.createSession();
  const said: Said[] = [];
  for (const cell of cells) {
    const { logs, results, error } = await session.runCode(cell);
    const value = results.findLast(({ kind }) => kind === 'result')?.data['text/plain'];
    said.push(comparable({ out: logs.stdout, value: value ?? null, error: error?.name ?? null }));
  }
  return said;
}

async function inIPython(cells: readonly string[], python: string): Promise<Said[]> {
  const cwd = await mkdtemp(path.join(tmpdir(), 'habits-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const env = { ...scrubEnvironment(process.env), IPYTHONDIR: path.join(cwd, '.ipython') };
  const script = path.join(import.meta.dirname, 'ipython.py');
  const { output, errors } = await run([python, script, JSON.stringify(cells)], { env, cwd, timeoutMs: TIMEOUT_MS });
  const lines = output.trim().split('\n');
  expect(lines, errors).toHaveLength(cells.length);
  return lines.map((line) => comparable(JSON.parse(line) as Said));
}

/** Times vary from run to run, and so do the units that they are told in. */
function comparable({ out, value, error }: Said): Said {
  const time = /(?:\d+(?:\.\d+)?(?:e[+-]\d+)? (?:s|ms|[uµμ]s|ns)|\d+min [\d.]+ ?s)/g;
  return { out: out.replaceAll(time, 'TIME').replace(/The slowest run took .*\n/, ''), value, error };
}

/** Asks a Python for its version and which promised libraries it has, without importing them. */
import path from 'node:path';
import { VivariumError } from '../errors.ts';
import { findProgram, isExecutable, run, scrubEnvironment } from './command.ts';
import { isPythonContents, type PythonContents } from './environment.ts';
import { PROMISED_LIBRARIES } from './library-sets.ts';

/** The minor versions of Python 3 that are supported. */
const OLDEST_MINOR = 10;
const NEWEST_MINOR = 14;

/** Python answers in well under a second; a shim on a cold disk may take a few seconds. */
const ANSWER_TIMEOUT_MS = 20_000;

export interface InventoryOptions {
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a Python reports about itself. */
export interface PythonInventory extends PythonContents {
  /** The path to run: that of a virtual environment as it is, any other with all links resolved. */
  readonly python: string;
  /** The Python that a virtual environment was created from; otherwise the same Python. */
  readonly base: string;
  readonly implementation: string;
  readonly freeThreaded: boolean;
  readonly hasEnsurepip: boolean;
  readonly pipVersion: string | null;
}

/** Takes a path or a name on PATH. Shims are resolved to the Python that they run. */
export async function takeInventory(python: string, options: InventoryOptions = {}): Promise<PythonInventory> {
  const env = scrubEnvironment(options.env ?? process.env);
  const file = python.includes('/') ? path.resolve(python) : await findProgram(python, env);
  if (file === undefined || !(await isExecutable(file))) {
    throw new VivariumError(
      'PYTHON_NOT_FOUND',
      `There is no executable Python at ${file ?? python}. Give the path of a Python ${supportedVersions()}.`,
    );
  }
  const command = [file, '-I', '-c', QUESTION, ...PROMISED_LIBRARIES];
  const { output, errors } = await run(command, { env, signal: options.signal, timeoutMs: ANSWER_TIMEOUT_MS });
  const answer = parseAnswer(output);
  if (answer === undefined) throw unsupported(file, `it does not behave like Python 3 (${lastLine(errors)})`);
  if (answer.implementation !== 'cpython') throw unsupported(file, `it is ${answer.implementation}, not CPython`);
  if (!isSupported(answer.version)) throw unsupported(file, `it is Python ${answer.version}`);
  return answer;
}

export function supportedVersions(): string {
  return `3.${OLDEST_MINOR} to 3.${NEWEST_MINOR}`;
}

// The path of a virtual environment is not resolved: that would lead out of it.
const QUESTION = `
import json, os, sys
is_virtual = sys.prefix != sys.base_prefix
executable = os.path.abspath(sys.executable)
answer = {
    "python": executable if is_virtual else os.path.realpath(executable),
    "base": os.path.realpath(getattr(sys, "_base_executable", None) or executable),
    "version": "%d.%d.%d" % sys.version_info[:3],
    "implementation": sys.implementation.name,
    "freeThreaded": False,
    "hasEnsurepip": False,
    "pipVersion": None,
    "libraries": {},
    "missing": [],
}
def version_of(name):
    from importlib import metadata
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
if sys.version_info >= (3, ${OLDEST_MINOR}):
    import sysconfig
    from importlib.util import find_spec
    answer["freeThreaded"] = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    answer["hasEnsurepip"] = find_spec("ensurepip") is not None
    answer["pipVersion"] = version_of("pip")
    found = {name: version_of(name) for name in sys.argv[1:]}
    answer["libraries"] = {name: version for name, version in found.items() if version}
    answer["missing"] = [name for name, version in found.items() if not version]
print(json.dumps(answer))
`;

function parseAnswer(output: string): PythonInventory | undefined {
  try {
    const answer: unknown = JSON.parse(output);
    return isInventory(answer) ? answer : undefined;
  } catch {
    return undefined; // whatever this is, it cannot be used as a Python
  }
}

function isInventory(value: unknown): value is PythonInventory {
  if (!isPythonContents(value)) return false;
  const answer: Partial<Record<keyof PythonInventory, unknown>> = value;
  return (
    [answer.python, answer.base, answer.implementation].every((item) => typeof item === 'string') &&
    [answer.freeThreaded, answer.hasEnsurepip].every((item) => typeof item === 'boolean') &&
    (answer.pipVersion === null || typeof answer.pipVersion === 'string')
  );
}

function isSupported(version: string): boolean {
  const [major, minor = 0] = version.split('.').map(Number);
  return major === 3 && minor >= OLDEST_MINOR && minor <= NEWEST_MINOR;
}

function unsupported(file: string, why: string): VivariumError {
  return new VivariumError(
    'PYTHON_UNSUPPORTED',
    `${file} cannot be used: ${why}. Vivarium needs CPython ${supportedVersions()}.`,
  );
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) || 'no output';
}

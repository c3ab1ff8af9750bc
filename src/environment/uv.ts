/** Installs uv, which finds and chooses packages for sessions, into the data directory: once, pinned, with hashes. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../errors.ts';
import { findProgram, isExecutable, run, scrubEnvironment } from './command.ts';
import { LOCKS_DIR, removeTree } from './managed.ts';

const INSTALL_TIMEOUT_MS = 5 * 60_000;

export interface UvOptions {
  readonly dataDir: string;
  /** The interpreter to install it with. */
  readonly python: string;
  readonly signal?: AbortSignal | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** The path of the program. It is installed if it is not there. */
export async function ensureUv(options: UvOptions): Promise<string> {
  const lock = path.join(LOCKS_DIR, 'uv.txt');
  const hash = createHash('sha256')
    .update(await readFile(lock))
    .digest('hex')
    .slice(0, 12);
  const directory = path.join(options.dataDir, 'uv', hash);
  const program = path.join(directory, 'bin', 'uv');
  if (await isExecutable(program)) return program;
  const building = `${directory}.${randomUUID()}`;
  await mkdir(path.dirname(directory), { recursive: true });
  try {
    await install(building, lock, options);
    await rename(building, directory).catch(() => undefined); // another process may have been faster
  } finally {
    await removeTree(building);
  }
  if (await isExecutable(program)) return program;
  throw failed('it was installed, but is not there');
}

async function install(
  directory: string,
  lock: string,
  { python, signal, env = process.env }: UvOptions,
): Promise<void> {
  const options = { env: scrubEnvironment(env), signal, timeoutMs: INSTALL_TIMEOUT_MS };
  const uv = await findProgram('uv', options.env);
  const exactly = ['--require-hashes', '--only-binary', ':all:', '--no-deps', '-r', lock];
  const own = path.join(directory, 'bin', 'python');
  const commands = uv
    ? [
        [uv, 'venv', '--no-project', '--quiet', '--python', python, directory],
        [uv, 'pip', 'install', '--python', own, '--link-mode', 'copy', ...exactly],
      ]
    : [
        [python, '-I', '-m', 'venv', directory],
        [own, '-I', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', ...exactly],
      ];
  for (const command of commands) {
    const { succeeded, errors } = await run(['/bin/sh', '-c', 'umask 022 && exec "$@"', 'sh', ...command], options);
    if (!succeeded)
      throw failed(
        errors
          .trim()
          .split('\n')
          .slice(-2)
          .join(' ')
          .replaceAll(/\/\/[^/@\s]*@/gu, '//'),
      );
  }
}

function failed(why: string): VivariumError {
  return new VivariumError(
    'PACKAGE_UNAVAILABLE',
    `Packages cannot be installed, because uv, which finds them, could not be: ${why.slice(-600)}. Check that pip reaches its index on this machine, then try again.`,
  );
}

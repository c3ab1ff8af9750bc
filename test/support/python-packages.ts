/** Installs Python packages that tests need into an environment of their own, which shares the libraries of the sessions. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findProgram, run, scrubEnvironment } from '../../src/environment/command.ts';
import type { Environment } from '../../src/environment/environment.ts';

const INSTALL_TIMEOUT_MS = 5 * 60_000;

/** The interpreter that has the packages, or why there is none. */
export type Installation = { readonly python: string } | { readonly problem: string };

export interface Packages {
  /** What their directory is called. */
  readonly name: string;
  /** Pinned, as pip reads them. */
  readonly requirements: readonly string[];
}

export async function installPackages(
  dataDir: string,
  environment: Pick<Environment, 'python'>,
  { name, requirements }: Packages,
): Promise<Installation> {
  const identity = [environment.python, ...requirements].join('\n');
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 12);
  const directory = path.join(dataDir, name, hash);
  const python = path.join(directory, 'bin', 'python');
  const complete = path.join(directory, 'complete');
  if (existsSync(complete)) return { python };
  const problem = await install(directory, environment.python, requirements);
  if (problem !== undefined) return { problem };
  await shareLibraries(environment.python, python);
  await writeFile(complete, ''); // last: what was interrupted is made anew
  return { python };
}

/** Undefined when all went well. */
async function install(directory: string, base: string, requirements: readonly string[]): Promise<string | undefined> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const env = scrubEnvironment(process.env);
  const python = path.join(directory, 'bin', 'python');
  const uv = await findProgram('uv', env);
  const commands = uv
    ? [
        [uv, 'venv', '--no-project', '--quiet', '--clear', '--python', base, directory],
        [uv, 'pip', 'install', '--compile-bytecode', '--python', python, ...requirements],
      ]
    : [
        [base, '-I', '-m', 'venv', directory],
        [python, '-I', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', ...requirements],
      ];
  for (const command of commands) {
    const { succeeded, errors, output } = await run(command, { env, cwd: directory, timeoutMs: INSTALL_TIMEOUT_MS });
    if (!succeeded) return lastLine(errors) ?? lastLine(output) ?? 'no reason was given';
  }
  return undefined;
}

/** The same numpy and pandas, file for file: what is compared is how they are run. */
async function shareLibraries(base: string, python: string): Promise<void> {
  const ask = async (interpreter: string): Promise<string> => {
    const code = 'import sysconfig; print(sysconfig.get_path("purelib"))';
    return (await run([interpreter, '-I', '-c', code], { env: scrubEnvironment(process.env) })).output.trim();
  };
  const [theirs, ours] = await Promise.all([ask(base), ask(python)]);
  await writeFile(path.join(ours, 'sessions.pth'), `${theirs}\n`);
}

function lastLine(text: string): string | undefined {
  return text.trim().split('\n').at(-1)?.slice(0, 200) || undefined;
}

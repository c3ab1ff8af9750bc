/** Installs what we are compared with into an environment of its own, which shares the libraries of the sessions. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findProgram, run, scrubEnvironment } from '../../src/environment/command.ts';
import type { Environment } from '../../src/environment/environment.ts';

const REQUIREMENTS = path.join(import.meta.dirname, 'requirements.txt');
const INSTALL_TIMEOUT_MS = 5 * 60_000;

/** The interpreter to run the peers with, or why there is none. */
export type Installation = { readonly python: string } | { readonly problem: string };

export async function installPeers(
  dataDir: string,
  environment: Environment,
  say: (text: string) => void,
): Promise<Installation> {
  const requirements = await readFile(REQUIREMENTS, 'utf8');
  const hash = createHash('sha256').update(`${environment.python}\n${requirements}`).digest('hex').slice(0, 12);
  const directory = path.join(dataDir, 'bench-peers', hash);
  const python = path.join(directory, 'bin', 'python');
  const complete = path.join(directory, 'complete');
  if (existsSync(complete)) return { python };
  say(`installing ${requirements.trim().split('\n').join(' and ')}`);
  const problem = await install(directory, environment.python);
  if (problem !== undefined) return { problem };
  await shareLibraries(environment.python, python);
  await writeFile(complete, ''); // last: what was interrupted is made anew
  return { python };
}

/** Undefined when all went well. */
async function install(directory: string, base: string): Promise<string | undefined> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const env = scrubEnvironment(process.env);
  const python = path.join(directory, 'bin', 'python');
  const uv = await findProgram('uv', env);
  const commands = uv
    ? [
        [uv, 'venv', '--no-project', '--quiet', '--clear', '--python', base, directory],
        [uv, 'pip', 'install', '--compile-bytecode', '--python', python, '-r', REQUIREMENTS],
      ]
    : [
        [base, '-I', '-m', 'venv', directory],
        [python, '-I', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '-r', REQUIREMENTS],
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

/** Installs programs of others into an environment of their own, which shares the libraries of the sessions. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { claim } from '../src/environment/claim.ts';
import { findProgram, run, scrubEnvironment } from '../src/environment/command.ts';
import type { Environment } from '../src/environment/environment.ts';

const INSTALL_TIMEOUT_MS = 5 * 60_000;

/** The interpreter to run the programs with, or why there is none. */
export type Installation = { readonly python: string } | { readonly problem: string };

export interface SideEnvironment {
  /** Its folder in the data directory. */
  readonly name: string;
  readonly requirementsFile: string;
  readonly dataDir: string;
  /** Whose libraries are shared. */
  readonly sessions: Environment;
  readonly say: (text: string) => void;
}

export async function installBeside(side: SideEnvironment): Promise<Installation> {
  const requirements = await readFile(side.requirementsFile, 'utf8');
  const base = side.sessions.python;
  const hash = createHash('sha256').update(`${base}\n${requirements}`).digest('hex').slice(0, 12);
  const folder = path.join(side.dataDir, side.name);
  const directory = path.join(folder, hash);
  const python = path.join(directory, 'bin', 'python');
  const complete = path.join(directory, 'complete');
  if (existsSync(complete)) return { python };
  await mkdir(folder, { recursive: true });
  using _ = await claim(path.join(folder, '.claim'), { onWait: () => side.say('waiting for another installation') });
  if (existsSync(complete)) return { python };
  side.say(`installing ${requirements.trim().split('\n').join(' and ')}`);
  const problem = await install(directory, base, side.requirementsFile);
  if (problem !== undefined) return { problem };
  await shareLibraries(base, python);
  await writeFile(complete, ''); // written last, so that an interrupted installation is repeated
  return { python };
}

/** Undefined when all went well. */
async function install(directory: string, base: string, requirementsFile: string): Promise<string | undefined> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const env = scrubEnvironment(process.env);
  const python = path.join(directory, 'bin', 'python');
  const uv = await findProgram('uv', env);
  const commands = uv
    ? [
        [uv, 'venv', '--no-project', '--quiet', '--clear', '--python', base, directory],
        [uv, 'pip', 'install', '--compile-bytecode', '--python', python, '-r', requirementsFile],
      ]
    : [
        [base, '-I', '-m', 'venv', directory],
        [python, '-I', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '-r', requirementsFile],
      ];
  for (const command of commands) {
    const { succeeded, errors, output } = await run(command, { env, cwd: directory, timeoutMs: INSTALL_TIMEOUT_MS });
    if (!succeeded) return lastLine(errors) ?? lastLine(output) ?? 'no reason was given';
  }
  return undefined;
}

/** The same numpy and pandas, file for file: what differs is how they are run. */
async function shareLibraries(base: string, python: string): Promise<void> {
  const ask = async (host: string): Promise<string> => {
    const code = 'import sysconfig; print(sysconfig.get_path("purelib"))';
    return (await run([host, '-I', '-c', code], { env: scrubEnvironment(process.env) })).output.trim();
  };
  const [theirs, ours] = await Promise.all([ask(base), ask(python)]);
  await writeFile(path.join(ours, 'sessions.pth'), `${theirs}\n`);
}

function lastLine(text: string): string | undefined {
  return text.trim().split('\n').at(-1)?.slice(0, 200) || undefined;
}

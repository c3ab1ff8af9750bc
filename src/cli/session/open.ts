/** Opens the one session that a command works with. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { leaveSchemasUncompiled } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import { startCommandHost } from '../../host/local/command-host.ts';
import type { Host } from '../../host/host.ts';
import type { Session } from '../../host/session.ts';
import type { Context } from '../terminal/context.ts';
import { configOf, networkOf, type SessionFlags } from './flags.ts';
import { mountsOf, openHost, remoteSettings, serverOf } from './host.ts';
import { installFor, policyOf } from './packages.ts';
import { introduce, type PythonProgram } from './program.ts';

export interface OpenedSession extends AsyncDisposable {
  readonly session: Session;
  readonly host: Host;
}

/** What the command needs. Leaving out the rest makes the start quicker. */
export interface SessionUse {
  /** Whether the session runs once; then no twin protects its state. */
  readonly runsOnce: boolean;
  /** Whether copies of files, figures and long outputs are kept, for the command to hand them over. */
  readonly keepsFiles: boolean;
  /** The program that the session is for. It gets a copy of its file, its arguments and `__file__`. */
  readonly program?: PythonProgram;
}

/** Starts a host and opens a session in it. Disposing the result ends both. */
export async function openSession(flags: SessionFlags, use: SessionUse, context: Context): Promise<OpenedSession> {
  const { environment, lifetime, headStart } = context;
  const { signal } = lifetime;
  leaveSchemasUncompiled();
  const server = serverOf(flags, environment);
  const mounts = mountsOf(flags, server);
  const files = await givenFiles(flags, use);
  const { runsOnce, keepsFiles, program } = use;
  await using stack = new AsyncDisposableStack();
  const config = configOf(flags, environment);
  const host = stack.use(
    await (server === undefined
      ? startCommandHost({ ...config, headStart, runsOnce, keepsNothing: !keepsFiles, signal })
      : openHost(flags, {}, context)),
  );
  const { echo } = flags;
  const network = networkOf(flags);
  const initCode = program === undefined ? null : introduce(program);
  const packages = policyOf(flags);
  // A command that is killed cannot close its session on a server, which does that in time.
  const setting = server === undefined ? { idleMs: null } : remoteSettings(flags);
  const session = await host.createSession({ echo, mounts, network, packages, initCode, signal, ...setting });
  if (server !== undefined) stack.use(session); // one of this machine ends with its host
  if (program?.file) await session.files.upload(program.file.name, program.code, { signal });
  for (const [name, file] of files) await upload({ session, host, signal }, name, file);
  await installFor(session, { flags, code: program?.code ?? '', host, signal });
  const owned = stack.move();
  return { session, host, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Looked for before anything is started. The program's own copy is not among them. */
async function givenFiles({ file }: SessionFlags, { program }: SessionUse): Promise<ReadonlyMap<string, string>> {
  if (file === undefined) return new Map();
  const { namedFiles } = await import('./user-files.ts'); // rarely needed, and each module costs time
  const files = new Map(await namedFiles(file));
  const own = program?.file;
  if (own === undefined || !files.has(own.name)) return files;
  if (files.get(own.name) !== own.path) {
    throw new VivariumError(
      'USAGE',
      `The program and a file would both be ${own.name} in the session. Give the file another name: --file PATH=NAME.`,
    );
  }
  files.delete(own.name);
  return files;
}

interface Upload {
  readonly session: Session;
  readonly host: Host;
  readonly signal: AbortSignal;
}

async function upload({ session, host, signal }: Upload, name: string, file: string): Promise<void> {
  const remedy = `Show it without a copy instead: --mount ${file}:/data/${name}`;
  const { fileMb } = host.limits;
  if ((await stat(file)).size > fileMb * 2 ** 20) {
    throw new VivariumError('FILE_TOO_LARGE', `Cannot copy --file ${file}: a file may have ${fileMb} MB. ${remedy}`);
  }
  try {
    await session.files.upload(name, createReadStream(file), { signal });
  } catch (error) {
    if (!(error instanceof VivariumError) || error.code !== 'FILE_TOO_LARGE') throw error;
    throw new VivariumError(error.code, `Cannot copy --file ${file}: ${error.message} ${remedy}`, { cause: error });
  }
}

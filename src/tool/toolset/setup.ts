/** How the interpreters of a toolset are set up: working directory, limits, access and init code. */
import { access as check, constants, stat, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Mount } from '../../config.ts';
import { defaultDataDir } from '../../data-dir.ts';
import { describeMissing } from '../../environment/environment.ts';
import type { SessionOptions } from '../../host/options.ts';
import { NOTE_WORKSPACE } from '../../host/whole-value.ts';
import { Once } from '../../once.ts';
import { changeDirectory, pythonString } from '../../text/code/python-code.ts';
import type { DirectoryIdentity } from '../../workspace/held-directory.ts';
import { isolationOf, resolveAccess, resolveDirectory } from '../access.ts';
import type { CallerIdentity } from '../call.ts';
import { describeSurroundings } from '../description.ts';
import type { LazyHost } from '../lazy.ts';
import type { ToolSetSettings } from './options.ts';

/** The number by which the kernel knows this file system. */
const OVERLAYFS = 0x79_4c_76_30;

/** A directory of the machine that interpreters work in. */
export interface Workdir {
  readonly path: string;
  /** What the path led to when it was used first. */
  readonly identity: DirectoryIdentity;
  /** Whether sessions may write there. */
  readonly isWritable: boolean;
  /** Whether figures are kept there, which this process writes itself. */
  readonly holdsFigures: boolean;
}

export class InterpreterSetup {
  readonly #host: LazyHost;
  readonly #settings: ToolSetSettings;
  readonly #workdir = new Once(() => this.#findWorkdir());
  readonly #warned = new Set<string>();

  constructor(host: LazyHost, settings: ToolSetSettings) {
    this.#host = host;
    this.#settings = settings;
  }

  /** Null: each interpreter has a workspace of its own. */
  workdir(): Promise<Workdir | null> {
    return this.#workdir.get();
  }

  /** The time limit of a run. */
  async timeoutMs(): Promise<number> {
    const { timeoutMs, isDefaultTimeout } = this.#settings;
    const { maxLimits } = await this.#host.get();
    return isDefaultTimeout ? Math.min(timeoutMs, maxLimits?.timeoutMs ?? Infinity) : timeoutMs;
  }

  /** Tells once what the code will have to do without: libraries that are promised, and a working directory. */
  async warn(): Promise<void> {
    const { environment } = await this.#host.get();
    const missing = describeMissing(environment);
    if (missing !== undefined) this.#warn('VIVARIUM_MISSING_LIBRARIES', missing);
    await this.workdir();
  }

  /** The options of a new session for this caller. */
  async sessionOptions({ clientId, chatId, sessionId, variables }: CallerIdentity): Promise<SessionOptions> {
    const { memoryMb, initCode, access: given } = this.#settings;
    const timeoutMs = await this.timeoutMs();
    await this.warn();
    const workdir = await this.workdir();
    const code = [`${NOTE_WORKSPACE}\n`, workdir === null ? '' : enterDirectory(workdir), initCode ?? ''].join('');
    const context = { ...variables, client_id: clientId, chat_id: chatId, session_id: sessionId };
    return {
      initCode: code,
      limits: { timeoutMs, ...(memoryMb !== undefined && { memoryMb }) },
      ...resolveAccess(given, await this.#host.get(), {
        mounts: mountsOf(workdir),
        env: { PANTHEON_CONTEXT: JSON.stringify({ workdir: workdir?.path ?? null, ...context }) },
      }),
    };
  }

  /** Where the code runs, in words for a model. */
  async describe(): Promise<string> {
    const { memoryMb, access: given } = this.#settings;
    const timeoutMs = await this.timeoutMs();
    const host = await this.#host.get();
    const access = resolveAccess(given, host);
    return describeSurroundings({
      environment: host.environment,
      isolation: isolationOf(host, access),
      timeoutMs,
      memoryMb: memoryMb ?? host.limits.memoryMb,
      keeps: 'variables and files',
      workdir: (await this.workdir()) ?? undefined,
      mounts: access.mounts,
    });
  }

  async #findWorkdir(): Promise<Workdir | null> {
    const { workdir, isDefaultWorkdir, workdirWritable } = this.#settings;
    if (workdir === null) return null;
    if (isDefaultWorkdir && !(await this.#mayTake(workdir))) return null;
    const found = await resolveDirectory('workdir', workdir);
    const identity = await stat(found, { bigint: true });
    const problem = isDefaultWorkdir && workdirWritable ? await this.#whyReadOnly(found) : null;
    if (problem !== null) this.#warnReadOnly(found, problem);
    const holdsFigures = isDefaultWorkdir ? await isOurs(found) : workdirWritable;
    return { path: found, identity, isWritable: workdirWritable && problem === null, holdsFigures };
  }

  /** Whether the current directory can be shared. If not, that is told. */
  async #mayTake(directory: string): Promise<boolean> {
    if ((await this.#host.get()).environment.source === 'remote') return false; // sessions there do not see this machine
    const why = await this.#whyNotShared(directory);
    if (why === null) return true;
    this.#warn(
      'VIVARIUM_WORKDIR',
      `Interpreters do not work in the current directory ${directory}, because ${why}. Each has an empty workspace of its own instead. Name a directory with \`workdir\`, or pass \`workdir: false\`.`,
    );
    return false;
  }

  /** It is not shared if much more than the program's own files is in it, if parts of it are mounted, or if it is closed. */
  async #whyNotShared(directory: string): Promise<string | null> {
    const tooMuch = [os.homedir(), os.tmpdir(), defaultDataDir(process.env)].find((one) => isWithin(one, directory));
    if (tooMuch !== undefined) return tooMuch === directory ? `it is ${tooMuch}` : `it holds ${tooMuch}`;
    const { mounts } = resolveAccess(this.#settings.access, await this.#host.get());
    const sources = mounts.map(({ source }) => path.resolve(source));
    const mounted = sources.find((source) => isWithin(source, directory) || isWithin(directory, source));
    if (mounted !== undefined) return `the mount ${mounted} overlaps with it`;
    const isClosed = !this.#settings.workdirWritable && (await this.#isClosedToOthers(directory));
    return isClosed ? 'only its owner may read it' : null;
  }

  /** As root, sessions that may only read a directory are other users than its owner. */
  async #isClosedToOthers(directory: string): Promise<boolean> {
    const { isolation } = await this.#host.get();
    if (process.getuid?.() !== 0 || isolation.uid !== 'own') return false;
    return ((await stat(directory)).mode & 0o005) !== 0o005;
  }

  /** Why sessions cannot write to a directory that nobody has chosen; null if they can. */
  async #whyReadOnly(directory: string): Promise<string | null> {
    if (!(await isOurs(directory))) return 'this process cannot write there';
    const { isolation } = await this.#host.get();
    const { uid, mode } = await stat(directory);
    if (process.getuid?.() !== 0 || isolation.uid !== 'own' || (mode & 0o002) !== 0) return null;
    if (isolation.level !== 'namespaces') return `at the isolation "${isolation.level}" they are other users than you`;
    const isMappable = uid !== 0 || (await statfs(directory)).type !== OVERLAYFS;
    return isMappable ? null : 'it belongs to root, and its file system (overlayfs) has no mapped mounts';
  }

  #warnReadOnly(directory: string, problem: string): void {
    this.#warn(
      'VIVARIUM_WORKDIR',
      `Interpreters can only read the current directory ${directory}: ${problem}. Name a directory with \`workdir\`, or give this one to another user (chown).`,
    );
  }

  #warn(code: string, message: string): void {
    if (this.#warned.has(code)) return;
    this.#warned.add(code);
    process.emitWarning(`Toolset ${this.#settings.name}: ${message}`, { code });
  }
}

async function isOurs(directory: string): Promise<boolean> {
  return check(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
}

function isWithin(inner: string, outer: string): boolean {
  return !path.relative(outer, inner).startsWith('..');
}

function mountsOf(workdir: Workdir | null): Mount[] {
  return workdir === null ? [] : [{ source: workdir.path, target: workdir.path, writable: workdir.isWritable }];
}

/** Python that enters the working directory, and fails at once if it should be writable and is not. */
function enterDirectory({ path: directory, isWritable }: Workdir): string {
  const enter = `${changeDirectory(directory)}\n`;
  if (!isWritable) return enter;
  const refusal =
    `Sessions cannot write to the workdir ${directory}. When Vivarium runs as root, sessions write as the owner of the directory; for a directory of root that takes a file system with mapped mounts (ext4, xfs, btrfs, tmpfs; not overlayfs). ` +
    'Give the directory to another user (chown), make it writable for others (chmod o+rwx), or pass workdirWritable: false.';
  return `${enter}if not __import__("os").access(".", 2): raise PermissionError(${pythonString(refusal)})\n`;
}

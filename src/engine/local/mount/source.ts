import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { VivariumError } from '../../../errors.ts';

/** Names a file without opening it. Not in `constants`. */
const O_PATH = 0o10_000_000;
const MAX_LINKS = 40;

interface Step {
  readonly name: string;
  readonly fd: number;
  readonly stats: BigIntStats;
}

/**
 * A file or directory of the machine, held by its descriptor: as long as it is, no other one gets its inode. The way to
 * it is walked once, from one held directory to the next. A link on it is followed unless a session could have put it
 * there, which is so below every directory that `isShared`.
 */
export class HeldSource implements Disposable {
  /** Without links. */
  readonly path: string;
  readonly stats: BigIntStats;
  readonly #fd: number;

  private constructor(way: readonly Step[], last: Step) {
    this.path = `/${way
      .slice(1)
      .map(({ name }) => name)
      .join('/')}`;
    this.stats = last.stats;
    this.#fd = last.fd;
  }

  static open(source: string, isShared: (identity: string) => boolean = () => false): HeldSource {
    const way: Step[] = [];
    try {
      way.push(openStep('/', ''));
      walk(way, source, isShared);
      const last = way.at(-1);
      if (last === undefined) throw new TypeError('the way has no end');
      for (const { fd } of way.slice(0, -1)) closeSync(fd);
      return new HeldSource(way, last);
    } catch (error) {
      for (const { fd } of way) closeSync(fd);
      throw error instanceof VivariumError ? error : unreachable(source, error);
    }
  }

  /** Tells it from every other file that exists while it is held. */
  get identity(): string {
    return identityOf(this.stats);
  }

  /** The number of the mount that it was found on. */
  get mountId(): string {
    return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${this.#fd}`, 'utf8'))?.[1] ?? '';
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/** Goes on from the end of `way`, which holds every directory from the root down. */
function walk(way: Step[], source: string, isShared: (identity: string) => boolean): void {
  const names = source.split('/').toReversed();
  let links = 0;
  for (let name = names.pop(); name !== undefined; name = names.pop()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      leave(way, Math.max(1, way.length - 1));
      continue;
    }
    const at = `/proc/self/fd/${way.at(-1)?.fd}/${name}`;
    const step = openStep(at, name);
    if (!step.stats.isSymbolicLink()) {
      way.push(step);
      continue;
    }
    closeSync(step.fd);
    if (way.some(({ stats }) => isShared(identityOf(stats)))) throw changeable(source, name);
    links += 1;
    if (links > MAX_LINKS) throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
    const end = readlinkSync(at);
    if (path.isAbsolute(end)) leave(way, 1);
    names.push(...end.split('/').toReversed());
  }
}

function leave(way: Step[], length: number): void {
  for (const { fd } of way.splice(length)) closeSync(fd);
}

function openStep(at: string, name: string): Step {
  const fd = openSync(at, O_PATH | constants.O_NOFOLLOW);
  return { name, fd, stats: fstatSync(fd, { bigint: true }) };
}

function changeable(source: string, name: string): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `The mount ${source} cannot be used: "${name}" is a link in a directory that sessions can write. Mount the directory that is meant by its own path.`,
  );
}

/** What the machine lacks for a moment, which says nothing about the mount. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

function unreachable(source: string, error: unknown): VivariumError {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  if (SHORTAGES.has(code)) {
    return new VivariumError(
      'ENGINE_FAILED',
      `The mount ${source} cannot be opened at the moment: the machine has no descriptors or memory left (${code}). Try again, or raise the limit of open files.`,
      { cause: error },
    );
  }
  return new VivariumError(
    'CONFIG_INVALID',
    `The mount ${source} cannot be opened (${code}). Create it, or correct its \`source\`.`,
    { cause: error },
  );
}

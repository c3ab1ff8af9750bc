import { renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { PackagePolicy } from '../../../config.ts';
import { VivariumError } from '../../../errors.ts';
import type { InstalledPackage } from '../../../execution/execution.ts';
import { normalName, readRequirements, type Requirement } from '../../../requirement/requirement.ts';
import type { PackageInstallation } from '../../engine.ts';
import type { PackageInstaller } from './installer.ts';
import { WishReader, type Wish } from './wishes.ts';

/** A program that asks again and again waits for its earlier wishes, up to this many. */
const MAX_WAITING = 16;
const KEPT_ANSWERS = 32;

interface SessionPackagesParts {
  /** That of the session; only we write there. See `_make_packages` in python/_vivarium/enclosure/home.py. */
  readonly directory: string;
  readonly policy: PackagePolicy;
  readonly installer: PackageInstaller;
}

/** The packages of one session: what was installed, and what its programs may ask for. */
export class SessionPackages implements Disposable {
  readonly #parts: SessionPackagesParts;
  readonly #installed = new Map<string, InstalledPackage>();
  readonly #answers: string[] = [];
  readonly #closed = new AbortController();
  #reader: WishReader | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** Ends what programs have asked for since the last run that was stopped. */
  #asked = new AbortController();
  #unreported: InstalledPackage[] = [];

  constructor(parts: SessionPackagesParts) {
    this.#parts = parts;
    const { policy, directory } = parts;
    if (policy === 'none') return;
    const names = policy === 'any' ? null : policy.map(normalName);
    writeFileSync(path.join(directory, 'policy.json'), JSON.stringify({ names }), { mode: 0o644 });
    this.#reader = new WishReader(path.join(directory, 'wishes'), (wish) => void this.#grant(wish));
  }

  /** Installs what the owner of the session asks for. The policy is about its programs. */
  install(requirements: readonly Requirement[], signal?: AbortSignal): Promise<PackageInstallation> {
    const ended = this.#closed.signal;
    return this.#inTurn(requirements, signal === undefined ? ended : AbortSignal.any([signal, ended]));
  }

  /** Gives up what programs wait for: their run was stopped. */
  giveUp(): void {
    this.#asked.abort(
      new VivariumError('PACKAGE_UNAVAILABLE', 'The run was stopped before the packages were installed.'),
    );
    this.#asked = new AbortController();
  }

  /** What was installed since it was last asked for. */
  takeInstalled(): readonly InstalledPackage[] {
    return this.#unreported.splice(0);
  }

  [Symbol.dispose](): void {
    this.#reader?.[Symbol.dispose]();
    this.#closed.abort(new VivariumError('SESSION_CLOSED', 'The session was closed while packages were installed.'));
  }

  /** One installation after the other: each keeps to what those before it have chosen. */
  async #inTurn(requirements: readonly Requirement[], signal: AbortSignal): Promise<PackageInstallation> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await before;
      signal.throwIfAborted();
      const { installer, directory } = this.#parts;
      const installation = await installer.install({ requirements, installed: this.#installed, directory, signal });
      for (const one of installation.installed) this.#installed.set(one.name, one);
      this.#unreported.push(...installation.installed);
      return installation;
    } finally {
      resolve();
    }
  }

  async #grant({ id, requirements }: Wish): Promise<void> {
    this.#waiting += 1;
    const signal = AbortSignal.any([this.#asked.signal, this.#closed.signal]);
    try {
      if (this.#waiting > MAX_WAITING) throw refused('too many installations wait in this session already');
      const { installed, there } = await this.#inTurn(this.#check(requirements), signal);
      this.#answer(id, { ok: true, text: describe(installed, there) });
    } catch (error) {
      const text = error instanceof VivariumError ? error.message : 'The packages could not be installed.';
      this.#answer(id, { ok: false, text });
    } finally {
      this.#waiting -= 1;
    }
  }

  #check(given: readonly string[]): readonly Requirement[] {
    const requirements = readRequirements(given);
    if (typeof requirements === 'string') throw new VivariumError('PACKAGE_REFUSED', requirements);
    const { policy } = this.#parts;
    if (policy === 'any') return requirements;
    const names = new Set(policy === 'none' ? [] : policy.map(normalName));
    const unlisted = requirements.filter(({ name }) => !names.has(name)).map(({ name }) => name);
    if (unlisted.length === 0) return requirements;
    throw refused(
      `${unlisted.join(', ')} ${unlisted.length === 1 ? 'is' : 'are'} not on the list of packages that may be installed here (${[...names].join(', ')})`,
    );
  }

  /** Appears as a whole. A session that is gone needs none. */
  #answer(id: string, answer: { readonly ok: boolean; readonly text: string }): void {
    const file = path.join(this.#parts.directory, 'answers', `${id}.json`);
    try {
      writeFileSync(`${file}.draft`, JSON.stringify(answer), { mode: 0o644 });
      renameSync(`${file}.draft`, file);
      this.#answers.push(file);
      const oldest = this.#answers.length > KEPT_ANSWERS ? this.#answers.shift() : undefined;
      if (oldest !== undefined) rmSync(oldest, { force: true });
    } catch {
      // Its directory is gone, or the disk is full: the program waits until its run is over.
    }
  }
}

function refused(why: string): VivariumError {
  return new VivariumError(
    'PACKAGE_REFUSED',
    `Nothing was installed: ${why}. The owner of the session can add names to the option \`packages\`, or install something for it.`,
  );
}

function describe(installed: PackageInstallation['installed'], there: PackageInstallation['there']): string {
  const named = (all: readonly { name: string; version: string }[]): string =>
    all.map(({ name, version }) => `${name} ${version}`).join(', ');
  const lines = [
    ...(installed.length > 0 ? [`Installed ${named(installed)}`] : []),
    ...(there.length > 0 && installed.length === 0 ? [`Already there: ${named(there)}`] : []),
  ];
  return lines.join('\n') || 'Nothing had to be installed';
}

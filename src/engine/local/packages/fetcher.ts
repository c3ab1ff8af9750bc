import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import type { Json } from '../../../execution/execution.ts';
import { pythonValue } from '../../../text/code/python-code.ts';
import type { EngineSession } from '../../engine.ts';
import { readPayload } from '../../python-files.ts';
import { describeFailure } from './failures.ts';
import type { PackageIndex, PackageSource } from './source.ts';
import type { FetchedWheel } from './store.ts';

/** How long one fetch may take. */
export const FETCH_TIMEOUT_MS: number = 15 * 60_000;
const MAX_ANSWER_BYTES = 8 << 20;
const ANSWER = 'answer.json';
const CERTIFICATES = 'certificates.pem';

/** What is to be fetched. */
export interface Wanted {
  readonly requirements: readonly string[];
  readonly names: readonly string[];
  /** The versions that the session has already, by name. */
  readonly installed: Readonly<Record<string, string>>;
}

/** Wheels that lie in a session of our own until this is disposed of. */
export interface Fetched extends AsyncDisposable {
  readonly wheels: readonly (FetchedWheel & { readonly version: string; readonly url: string })[];
  /** What the environment has already. */
  readonly kept: readonly { readonly name: string; readonly version: string }[];
}

/** What a session that fetches needs. */
export interface FetchPlan {
  /** Hosts that it may reach, written as in `network.allow`. */
  readonly hosts: readonly string[];
  /** Those of them that may be at a private address: they are configured, not found. */
  readonly trusted: readonly string[];
  /** Files and directories of the machine that it reads. */
  readonly reads: readonly string[];
}

export interface FetcherParts {
  readonly python: string;
  readonly source: PackageSource;
  readonly open: (plan: FetchPlan, signal: AbortSignal) => Promise<EngineSession>;
  /** Whether its sessions can be held to a list of hosts. */
  readonly isListable: () => boolean;
  readonly pythonVersion: () => string;
}

const Version = z.string().regex(/^[\w.+!-]{1,100}$/u);
const PackageName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,199}$/u);
const Answer = z.union([
  z.object({ problem: z.string(), isUnreachable: z.boolean() }),
  z.object({
    wheels: z
      .array(
        z.object({
          name: PackageName,
          version: Version,
          url: z.string().max(4000),
          sha256: z.string().regex(/^[0-9a-f]{64}$/u),
          file: z.string().regex(/^\d{1,4}\.whl$/u),
        }),
      )
      .max(1000),
    kept: z.array(z.object({ name: PackageName, version: Version })).max(2000),
  }),
]);
const Origins = z.array(z.string().regex(/^https?:\/\/[\w.-]{1,250}(?::\d{1,5})?$/u)).max(50);

/** Resolves requirements and fetches wheels, in a session of our own that reaches the index and nothing else. */
export class Fetcher {
  readonly #parts: FetcherParts;
  /** Where indexes were found to keep their files. */
  readonly #linked = new Map<string, readonly string[]>();

  constructor(parts: FetcherParts) {
    this.#parts = parts;
  }

  /** What resolving depends on besides the requirements. */
  async identity(): Promise<unknown> {
    const { python, source } = this.#parts;
    const { urls, directories } = await source.readIndex();
    return { python, version: this.#parts.pythonVersion(), changed: changedAt(python), urls, directories };
  }

  async fetch(wanted: Wanted, signal: AbortSignal): Promise<Fetched> {
    const { source, open, pythonVersion } = this.#parts;
    const index = await source.readIndex();
    const uv = await source.findUv(signal);
    const { urls, directories } = index;
    const linked = await this.#linkedOrigins(index, wanted, signal);
    const hosts = [...urls, ...linked].map(hostOf);
    // Its name is all that is known of a linked host, and a certificate proves that it is the one.
    const trusted = [...urls, ...linked.filter((origin) => origin.startsWith('https:'))].map(hostOf);
    await using stack = new AsyncDisposableStack();
    const session = stack.use(await open({ hosts, trusted, reads: [uv, ...directories] }, signal));
    const order = { ...wanted, indexes: urls, directories, uv };
    const { value, refused } = await ask(session, 'fetch', order, index, signal);
    const answer = Answer.parse(value);
    if ('problem' in answer) {
      const problem = answer.isUnreachable ? (refused ?? answer.problem) : answer.problem;
      throw describeFailure({ ...answer, problem, names: wanted.names, index, pythonVersion: pythonVersion() });
    }
    const owned = stack.move();
    return {
      wheels: answer.wheels.map((wheel) => ({ ...wheel, read: () => chunksOf(session, wheel.file) })),
      kept: answer.kept,
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }

  /** Indexes may keep their files on other hosts. Their own pages say on which. */
  async #linkedOrigins(index: PackageIndex, { names }: Wanted, signal: AbortSignal): Promise<readonly string[]> {
    const { urls } = index;
    const key = urls.join('\n');
    const known = this.#linked.get(key);
    if (known !== undefined || urls.length === 0 || !this.#parts.isListable()) return known ?? [];
    const own = urls.map(hostOf);
    await using session = await this.#parts.open({ hosts: own, trusted: own, reads: [] }, signal);
    const order = { names: names.slice(0, 5), indexes: urls };
    const found = Origins.parse((await ask(session, 'find_link_hosts', order, index, signal)).value);
    const named = found.filter((origin) => isIP(new URL(origin).hostname) === 0); // an address might be any machine
    if (found.length > 0) this.#linked.set(key, named);
    return named;
  }
}

/** Runs our code there. What comes back is as hostile as what it reads from the network. */
async function ask(
  session: EngineSession,
  call: 'fetch' | 'find_link_hosts',
  order: object,
  { certificates }: PackageIndex,
  signal: AbortSignal,
): Promise<{ readonly value: unknown; readonly refused: string | undefined }> {
  if (certificates !== null) await session.workspace.write(CERTIFICATES, certificates);
  const full = { ...order, certificate: certificates === null ? null : CERTIFICATES };
  const code = `${await readPayload('fetch_wheels')}
with open(${JSON.stringify(ANSWER)}, "w") as file:
    json.dump(${call}(${pythonValue(JSON.parse(JSON.stringify(full)) as Json)}), file)
`;
  const request = { id: randomUUID(), code, filename: '<fetch>', echo: 'none', timeoutMs: FETCH_TIMEOUT_MS } as const;
  const { outcome, error, network } = await session.run({ ...request, isInternal: true, signal }, () => undefined);
  signal.throwIfAborted();
  const refused = network?.find(({ decision }) => decision === 'refused')?.reason;
  if (outcome.status === 'succeeded') return { value: JSON.parse(await readText(session)), refused };
  throw new VivariumError(
    'PACKAGE_UNAVAILABLE',
    `The packages could not be fetched: ${error === undefined ? outcome.status : `${error.name}: ${error.value}`}. Run \`vivarium doctor\`.`,
  );
}

async function readText(session: EngineSession): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(session, ANSWER)) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new TypeError('the answer of a fetcher is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function* chunksOf(session: EngineSession, file: string): AsyncGenerator<Uint8Array, void, undefined> {
  await using opened = await session.workspace.open(file);
  yield* opened.chunks();
}

function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
}

/** Another one is there after packages were added to an environment, or removed. */
function changedAt(python: string): number {
  return statSync(python).mtimeMs;
}

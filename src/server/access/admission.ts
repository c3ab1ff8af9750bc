import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import { ClientHost } from './client-host.ts';
import type { Ceiling } from './ceiling/ceiling.ts';
import { localOwner, type Client } from './client.ts';
import { inspectArrival, type ServerNames } from './guard.ts';
import { KeyWatch } from './key-watch.ts';
import { KeyStore, type KeyRecord } from './keys.ts';
import { Usage } from './usage.ts';

/** What everybody may ask for: that the server is there, and how it is used. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set(['/health', '/openapi.json', '/docs']);

export interface AdmissionOptions {
  /** Where the keys are. */
  readonly dataDir: string;
  /** The address that the server binds to. */
  readonly address: string;
  /** Names that it is reached by, besides those of loopback and its address. */
  readonly names: ServerNames;
  /** What requests may ask for unless they come from an admin with a key. */
  readonly ceiling: Ceiling;
}

/** Who may use a server: decides about each request, and shows each client its own part of the host. */
export class Admission implements Disposable {
  readonly #keys: KeyStore;
  readonly #watch: KeyWatch;
  readonly #usage = new Usage();
  readonly #names: ServerNames;
  readonly #ceiling: Ceiling;
  /** Once there were keys, the server stays closed to those without: removing the last key must not open it. */
  #hasKeys: boolean;

  private constructor(keys: KeyStore, hasKeys: boolean, { address, names, ceiling }: AdmissionOptions) {
    this.#keys = keys;
    this.#watch = new KeyWatch(keys);
    this.#hasKeys = hasKeys;
    this.#names = { ...names, hosts: [address, ...names.hosts] };
    this.#ceiling = ceiling;
  }

  /** Refuses to serve others than this machine without keys. */
  static async open(options: AdmissionOptions): Promise<Admission> {
    using stack = new DisposableStack();
    const keys = stack.use(await KeyStore.open(options.dataDir));
    const hasKeys = !(await keys.isEmpty());
    if (!hasKeys && !isLoopback(options.address)) {
      throw new VivariumError(
        'CONFIG_INVALID',
        `The server would be open to everybody who can reach ${options.address}. Make a key first (\`vivarium keys add NAME\`), or bind to 127.0.0.1.`,
      );
    }
    stack.move(); // the server owns it now
    return new Admission(keys, hasKeys, options);
  }

  /** Throws if a request is refused for everybody. */
  inspect(request: IncomingMessage): void {
    const { headers, socket, url = '' } = request;
    inspectArrival(
      {
        target: url,
        host: hasOneHost(request) ? headers.host : undefined,
        origin: headers.origin,
        fetchSite: oneOf(headers['sec-fetch-site']),
        localAddress: socket.localAddress,
        isPublic: isPublic(request),
      },
      this.#names,
    );
  }

  /** A request is ended if its key is removed meanwhile. */
  async #clientOf(request: HttpBindings['incoming'], response: HttpBindings['outgoing']): Promise<Client> {
    const secret = secretIn(request);
    const key = secret === undefined ? undefined : await this.#keys.find(secret);
    if (key !== undefined) {
      this.#watchKey(key.id, response);
      this.#hasKeys = true;
      return this.#clientOfKey(key);
    }
    this.#hasKeys ||= !(await this.#keys.isEmpty());
    if (!this.#hasKeys || isPublic(request)) return this.#hasKeys ? this.#nobody() : localOwner(this.#ceiling);
    response.setHeader('www-authenticate', 'Bearer');
    throw unauthorized(secret !== undefined);
  }

  /** Who sends a request. Throws if nobody may, or if it sends too many. */
  async admit({ incoming, outgoing }: HttpBindings): Promise<Client> {
    const client = await this.#clientOf(incoming, outgoing);
    this.#count(client, outgoing);
    return client;
  }

  /**
   * Counts a request of a client that was admitted before and now shows a secret that it was given then. Throws if its
   * key has been removed since. The request is ended if it is removed meanwhile.
   */
  async readmit(client: Client, outgoing: HttpBindings['outgoing']): Promise<void> {
    const keys = await this.#keys.list();
    this.#hasKeys ||= keys.length > 0;
    if (client.keyId === null ? this.#hasKeys : !keys.some(({ id }) => id === client.keyId)) throw unauthorized(true);
    if (client.keyId !== null) this.#watchKey(client.keyId, outgoing);
    this.#count(client, outgoing);
  }

  #watchKey(keyId: string, response: HttpBindings['outgoing']): void {
    const watched = this.#watch.watch(keyId, response);
    response.once('close', () => watched[Symbol.dispose]());
  }

  #count(client: Client, outgoing: HttpBindings['outgoing']): void {
    const waitMs = this.#usage.countRequest(client);
    if (waitMs === 0) return;
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    outgoing.setHeader('retry-after', seconds);
    const { requestsPerSecond } = client.quotas ?? {};
    throw new VivariumError(
      'RATE_LIMITED',
      `The key "${client.name}" may send ${requestsPerSecond} requests per second. Try again in ${seconds} s.`,
    );
  }

  /** The host as this client sees it. */
  hostOf(host: Host, client: Client): Host {
    return new ClientHost(host, client, this.#usage);
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
    this.#keys[Symbol.dispose]();
  }

  /** Who asks for what everybody may see. It has no sessions. */
  #nobody(): Client {
    return { id: 'nobody', keyId: null, name: 'nobody', isAdmin: false, ceiling: this.#ceiling, quotas: null };
  }

  #clientOfKey({ id, name, role, quotas }: KeyRecord): Client {
    return role === 'admin'
      ? { id: null, keyId: id, name, isAdmin: true, ceiling: null, quotas }
      : { id, keyId: id, name, isAdmin: false, ceiling: this.#ceiling, quotas };
  }
}

function unauthorized(hasSecret: boolean): VivariumError {
  const why = hasSecret ? 'The key of the request is not one of this server' : 'The request has no key';
  return new VivariumError(
    'UNAUTHORIZED',
    `${why}. Send one as "Authorization: Bearer KEY" or "X-API-Key: KEY"; \`vivarium keys add NAME\` makes one.`,
  );
}

/** Whether only this machine can reach an address. A name could lead anywhere, but for the one of loopback. */
export function isLoopback(address: string): boolean {
  const kind = isIP(address);
  if (kind === 0) return address === 'localhost';
  const loopback = new BlockList();
  loopback.addSubnet('127.0.0.0', 8, 'ipv4');
  loopback.addAddress('::1', 'ipv6');
  return loopback.check(address, kind === 6 ? 'ipv6' : 'ipv4');
}

function isPublic({ method, url = '' }: IncomingMessage): boolean {
  const [path = ''] = url.split('?', 1);
  return (method === 'GET' || method === 'HEAD') && PUBLIC_PATHS.has(path);
}

/** E2B's SDKs send a user name as Basic credentials beside the key, so those are passed over. */
function secretIn({ headers }: IncomingMessage): string | undefined {
  return oneOf(headers['x-api-key']) ?? /^Bearer +(?<key>\S+) *$/i.exec(headers.authorization ?? '')?.groups?.['key'];
}

/** Two of them would let each reader choose another one. */
function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length === 1;
}

function oneOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.join(', ');
}

/**
 * Keeps pages of other sites away from a server on this machine. A page can make a browser send requests to 127.0.0.1,
 * either openly (the browser says so in `Origin` or `Sec-Fetch-Site`) or under a name of its own that suddenly leads here
 * (DNS rebinding; then that name is in `Host`).
 */
import { isIP } from 'node:net';
import { HttpError } from '../http/errors.ts';

/** The names that a server is reached by. */
export interface ServerNames {
  /** Names and addresses, without ports. Loopback is always one of them. */
  readonly hosts: readonly string[];
  /** Everything below these names is meant, too. */
  readonly domains: readonly string[];
}

/** What the guard looks at. */
export interface Arrival {
  /** As it was sent: a path, with a query perhaps. */
  readonly target: string;
  readonly host: string | undefined;
  readonly origin?: string | undefined;
  /** The header `Sec-Fetch-Site` of browsers. */
  readonly fetchSite?: string | undefined;
  /** The address of this machine that the connection was made to. */
  readonly localAddress?: string | undefined;
  /** Whether it asks for something that everybody may see. */
  readonly isPublic: boolean;
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** Throws unless a request may go on. */
export function inspectArrival(arrival: Arrival, names: ServerNames): void {
  const { target, host, origin, fetchSite, isPublic } = arrival;
  // A whole address would bring a second host name along, and who reads which one is anybody's guess.
  if (!target.startsWith('/')) throw new HttpError(400, 'REQUEST_INVALID', 'The request target must be a path.');
  const name = host === undefined ? null : hostNameOf(host);
  if (host === undefined || name === null || !isOurs(name, arrival, names)) {
    const known = [...LOOPBACK, ...names.hosts].map((one) => (isIP(one) === 6 ? `[${one}]` : one));
    const meant = [...new Set(known), ...names.domains.map((domain) => `*.${domain}`)].join(', ');
    const sent = host === undefined ? 'has no Host header' : `was sent to the host ${JSON.stringify(host)}`;
    throw new HttpError(
      421,
      'FORBIDDEN',
      `The request ${sent}, which is not a name of this server (${meant}). Start it with --public-host NAME to add one.`,
    );
  }
  if (origin !== undefined && !isSameOrigin(origin, host)) {
    throw new HttpError(403, 'FORBIDDEN', `Pages of ${JSON.stringify(origin)} may not use this server.`);
  }
  const isForeign = fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none';
  if (isForeign && !isPublic) throw new HttpError(403, 'FORBIDDEN', 'Pages of other sites may not use this server.');
}

/** A host name or address without its port; null if it is neither. */
function hostNameOf(host: string): string | null {
  const parts = /^(?:\[(?<six>[\da-f:.]+)\]|(?<plain>[a-z\d](?:[a-z\d._-]*[a-z\d])?))\.?(?::\d{1,5})?$/i.exec(host);
  const name = (parts?.groups?.['six'] ?? parts?.groups?.['plain'])?.toLowerCase();
  return name ?? null;
}

function isOurs(name: string, { localAddress }: Arrival, { hosts, domains }: ServerNames): boolean {
  if (LOOPBACK.includes(name) || hosts.some((host) => host.toLowerCase() === name)) return true;
  // No name of a stranger looks like an address, so the address that was connected to is no trick.
  if (isIP(name) !== 0) return name === localAddress?.replace(/^::ffff:/, '');
  return domains.some((domain) => name.endsWith(`.${domain.toLowerCase()}`));
}

/** The scheme may differ, since something in front of the server may speak TLS. */
function isSameOrigin(origin: string, host: string): boolean {
  const page = URL.parse(origin);
  if (page === null || (page.protocol !== 'http:' && page.protocol !== 'https:')) return false;
  return page.host === URL.parse(`${page.protocol}//${host}`)?.host;
}

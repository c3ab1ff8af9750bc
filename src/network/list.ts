import { isIPv4, isIPv6 } from 'node:net';

/** The hosts that a session may reach, and nothing else. */
export interface NetworkList {
  /** Names, names below a name, addresses and ranges, such as `api.example.com`, `*.example.org:443`, `10.0.0.5:5432`. */
  readonly allow: readonly string[];
  /** The same, for what stays refused although `allow` has it. Without a port, an entry means every port. */
  readonly deny?: readonly string[] | undefined;
  /** Whether executions tell about connections that were allowed, too; true by default. */
  readonly log?: boolean | undefined;
}

/** An entry of a list, as the gate takes it. */
export interface NetworkEntry {
  readonly name: string | null;
  /** All names below `name`. */
  readonly isWildcard: boolean;
  /** An address or a range, in CIDR notation. */
  readonly network: string | null;
  /** Null: the usual ones of the list. */
  readonly ports: readonly number[] | null;
}

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const NUMBER = /^(?:\d+|0x[\da-f]*)$/;
const MAX_NAME_CHARS = 253;
const MAX_PORT = 65_535;
const NOT_A_URL = 'write a host without a scheme, a path or a user, such as api.example.com or 10.0.0.0/8';

/** Reads an entry of a list. Returns what is wrong with it as text. */
export function readNetworkEntry(text: string): NetworkEntry | string {
  if (text.includes('://') || text.includes('@')) return NOT_A_URL;
  const split = splitPort(text);
  if (split === null) return 'the port must be a number from 1 to 65535';
  const { host, ports } = split;
  const network = readNetwork(host);
  if (network !== null) return { name: null, isWildcard: false, network, ports };
  if (host.includes('/')) return NOT_A_URL;
  return readName(host.toLowerCase(), ports);
}

function readName(host: string, ports: readonly number[] | null): NetworkEntry | string {
  const isWildcard = host === '*' || host.startsWith('*.');
  const name = host === '*' ? '' : isWildcard ? host.slice(2) : host;
  if (name.includes('*')) return '"*" can only be the first part, as in *.example.org';
  if (host === '*') return { name, isWildcard, network: null, ports };
  const labels = name.split('.');
  if (/[^\0-\u007f]/u.test(name)) return 'write names in their ASCII form (xn--…)';
  if (name.includes(':') || NUMBER.test(labels.at(-1) ?? '')) {
    return 'write addresses in their usual form, such as 192.0.2.7, 10.0.0.0/8, [2001:db8::1]:443 or 2001:db8::/32';
  }
  if (name.length > MAX_NAME_CHARS || !labels.every((label) => LABEL.test(label))) return 'it is not a host name';
  return { name, isWildcard, network: null, ports };
}

/** `host`, `host:port`, `[address]:port`, or an address with colons of its own. */
function splitPort(text: string): { readonly host: string; readonly ports: readonly number[] | null } | null {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  const colon = text.lastIndexOf(':');
  const isPlain = bracketed === null && (colon < 0 || text.indexOf(':') !== colon);
  const host = bracketed?.[1] ?? (isPlain ? text : text.slice(0, colon));
  const port = bracketed === null ? (isPlain ? undefined : text.slice(colon + 1)) : bracketed[2];
  if (port === undefined) return { host, ports: null };
  const number = Number(port);
  return /^\d{1,5}$/.test(port) && number > 0 && number <= MAX_PORT ? { host, ports: [number] } : null;
}

function readNetwork(host: string): string | null {
  const [address = '', bits, ...rest] = host.split('/');
  const most = isIPv4(address) ? 32 : isIPv6(address) && !address.includes('%') ? 128 : 0;
  if (most === 0 || rest.length > 0) return null;
  if (bits === undefined) return `${address}/${most}`;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= most ? host : null;
}

/** A host and port that clients without proxies reach, too. */
export interface NetworkTarget {
  readonly host: string;
  readonly port: number;
  readonly isAddress: boolean;
}

/** More would take more listeners than can be handed over at once. */
const MAX_TARGETS = 100;
const USUAL_PORTS = [80, 443];

/** The entries of a list that name one host: each gets a listener of its own in the session. */
export function exactTargets(entries: readonly NetworkEntry[]): NetworkTarget[] {
  const targets = entries.flatMap(({ name, isWildcard, network, ports }): NetworkTarget[] => {
    const address = network?.endsWith('/32') === true ? network.slice(0, -'/32'.length) : null;
    const host = name !== null && !isWildcard ? name : address !== null && isIPv4(address) ? address : null;
    if (host === null || host === 'localhost' || host.startsWith('0.')) return [];
    return (ports ?? USUAL_PORTS).map((port) => ({ host, port, isAddress: address !== null }));
  });
  const distinct = new Map(targets.map((target) => [`${target.host}:${target.port}`, target]));
  return [...distinct.values()].slice(0, MAX_TARGETS);
}

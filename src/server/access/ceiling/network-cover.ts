/** Whether one list of hosts is covered by another. */
import { BlockList, isIPv6 } from 'node:net';
import { readNetworkEntry, type NetworkEntry } from '../../../network/list.ts';

/** The ports that an allowed entry means if it names none, as the gate has it. */
const USUAL_PORTS = [80, 443];

/** The first host of `asked` that `allowed` does not have; undefined if it has all. What is not an entry is not covered. */
export function firstUncovered(asked: readonly string[], allowed: readonly string[]): string | undefined {
  const known = allowed.flatMap((text) => readEntry(text) ?? []);
  return asked.find((text) => {
    const entry = readEntry(text);
    return entry === undefined || !portsOf(entry).every((port) => known.some((one) => covers(one, entry, port)));
  });
}

function readEntry(text: string): NetworkEntry | undefined {
  const entry = readNetworkEntry(text);
  return typeof entry === 'string' ? undefined : entry;
}

function portsOf({ ports }: NetworkEntry): readonly number[] {
  return ports ?? USUAL_PORTS;
}

function covers(allowed: NetworkEntry, asked: NetworkEntry, port: number): boolean {
  if (!portsOf(allowed).includes(port)) return false;
  if (allowed.network !== null) return asked.network !== null && holdsNetwork(allowed.network, asked.network);
  if (allowed.name === null || asked.name === null) return false;
  if (!allowed.isWildcard) return !asked.isWildcard && asked.name === allowed.name;
  if (allowed.name === '') return true;
  const isBelow = asked.name.endsWith(`.${allowed.name}`);
  return isBelow || (asked.isWildcard && asked.name === allowed.name);
}

/** Both are addresses with a number of bits. */
function holdsNetwork(outer: string, inner: string): boolean {
  const [outerAddress = '', outerBits = ''] = outer.split('/');
  const [innerAddress = '', innerBits = ''] = inner.split('/');
  const family = isIPv6(outerAddress) ? 'ipv6' : 'ipv4';
  if (isIPv6(innerAddress) !== isIPv6(outerAddress) || Number(innerBits) < Number(outerBits)) return false;
  const range = new BlockList();
  range.addSubnet(outerAddress, Number(outerBits), family);
  return range.check(innerAddress, family);
}

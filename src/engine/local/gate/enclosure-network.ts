import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { NetworkSetting, SecretInput } from '../../../config.ts';
import type { NetworkConnection } from '../../../execution/execution.ts';
import { exactTargets, readNetworkEntry, type NetworkEntry, type NetworkTarget } from '../../../network/list.ts';
import type { NetworkUse } from '../../run-end.ts';
import type { Gate, GateSecret } from './gate.ts';
import { NetworkLog } from './network-log.ts';

const PROXY = 'http://127.0.0.1:3128';
const OWN = 'localhost,127.0.0.1,::1';

/** Where programs find the proxies; see python/_vivarium/enclosure/listeners.py. Some read only one spelling. */
const PROXY_VARIABLES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, ALL_PROXY: PROXY, NO_PROXY: OWN }).flatMap(
    ([name, value]) => [
      [name, value],
      [name.toLowerCase(), value],
    ],
  ),
);

type ParsedList = Exclude<NetworkSetting, boolean>;

/** What a session may reach, and what the gate adds to its requests. */
export interface NetworkPlan {
  readonly list: ParsedList;
  readonly secrets: Readonly<Record<string, SecretInput>>;
  /** Hosts of the list that may be at a private address. */
  readonly trusted?: readonly string[] | undefined;
}

/** The way of one enclosure to the hosts on its list. */
export class EnclosureNetwork {
  readonly log: NetworkLog;
  readonly #gate: Gate;
  readonly #enclosure: string;
  readonly #list: ParsedList;
  readonly #trusted: readonly string[];
  readonly #secrets: Readonly<Record<string, GateSecret>>;

  constructor(gate: Gate, enclosure: string, { list, secrets, trusted = [] }: NetworkPlan) {
    this.#gate = gate;
    this.#enclosure = enclosure;
    this.#list = list;
    this.#trusted = trusted;
    this.#secrets = Object.fromEntries(
      Object.entries(secrets).map(([name, { value, hosts }]) => [
        name,
        { placeholder: `vivarium-secret-${randomUUID()}`, value, hosts: hosts.map(entryOf) },
      ]),
    );
    this.log = new NetworkLog(list);
  }

  /** What programs read to find the way out, and in the place of secrets. */
  get variables(): Readonly<Record<string, string>> {
    const placeholders = Object.entries(this.#secrets).map(([name, { placeholder }]) => [name, placeholder] as const);
    return { ...PROXY_VARIABLES, ...Object.fromEntries(placeholders) };
  }

  /** What the builder opens listeners of its own for. */
  get targets(): readonly NetworkTarget[] {
    return exactTargets(this.#list.allow.map(entryOf));
  }

  /** Has the gate serve it; `directory` is where its pid 1 hands over its listeners. */
  open(directory: string): Promise<void> {
    const { allow, deny } = this.#list;
    const socket = path.join(directory, `${this.#enclosure}.net`);
    const secrets = Object.values(this.#secrets);
    const rules = { allow: allow.map(entryOf), deny: deny.map(entryOf), trusted: this.#trusted.map(entryOf), secrets };
    return this.#gate.serve(this.#enclosure, { socket, ...rules }, this.log);
  }

  beginRun(listener: (connection: NetworkConnection) => void): void {
    this.log.begin(listener);
  }

  async endRun(): Promise<NetworkUse> {
    return this.log.end(await this.#gate.tally(this.#enclosure));
  }

  close(): void {
    this.#gate.leave(this.#enclosure);
  }
}

/** The list was checked when it came in. */
function entryOf(text: string): NetworkEntry {
  const entry = readNetworkEntry(text);
  if (typeof entry === 'string') throw new TypeError(`${text}: ${entry}`);
  return entry;
}

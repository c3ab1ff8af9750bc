/** Messages that are almost right: each is made from one that is, by one of these kinds of harm. */
import { Generator } from '../support/generated.ts';

const KINDS = [
  ...(['valid', 'bytes', 'truncated', 'oversized', 'deep', 'type', 'number', 'duplicate'] as const),
  ...(['surrogate', 'missing', 'extra', 'list'] as const),
];
export type Kind = (typeof KINDS)[number];

export interface Mutation {
  readonly kind: Kind;
  readonly text: Buffer;
}

type Place = [holder: Record<string, unknown>, key: string];

const NUMBERS =
  '-1 0 1 2.5 -0 65536 4194305 1099511627776 9007199254740993 18446744073709551616 1e308 1e999 -1e999 1e-400 NaN 0x10'
    .split(' ')
    .concat('1'.repeat(5000));
const TEXTS = ['\\ud800', '\\udfff\\ud800', '\\u0000', '\\u202e\\u001b[2J', '\\n\\r\\u2028', '__proto__', '💥'];
const VALUES = ['null', 'true', '[]', '{}', '""', '[[[]]]', '{"a":{"b":[]}}', '"7"', '3', '[null,1,"x"]'];
const STRANGE_KEYS = ['__proto__', 'constructor', 'toString', '', 'request', 'enclosure', 'failure', 'status', 'pid'];
const MOST_BYTES = 300;
const MOST_DEPTH = 5000;
const MOST_REPEATS = 2000;
/** Stands for raw text of JSON until it is written. */
const RAW = '\u{e000}';

/** A seed gives the same messages on every machine. */
export class Mutations {
  readonly chance: Generator;
  readonly #templates: readonly object[];

  constructor(seed: number, templates: readonly object[]) {
    this.chance = new Generator(seed);
    this.#templates = templates;
  }

  next(): Mutation {
    const kind = this.chance.pick(KINDS);
    return { kind, text: this.#make(kind) };
  }

  #make(kind: Kind): Buffer {
    const message = structuredClone(this.chance.pick(this.#templates)) as Record<string, unknown>;
    const { chance } = this;
    switch (kind) {
      case 'bytes':
        return Buffer.from(chance.list(MOST_BYTES, () => chance.number(256)));
      case 'truncated': {
        const text = write(message);
        return text.subarray(0, chance.number(text.length));
      }
      case 'deep': {
        const depth = 1 + chance.number(MOST_DEPTH);
        return this.#replace(message, chance.pick(['[', '{"a":']).repeat(depth));
      }
      case 'oversized':
        return this.#replace(message, JSON.stringify('x'.repeat(4096 << chance.number(8))));
      case 'list':
        return this.#replace(message, `[${Array(chance.number(MOST_REPEATS)).fill(chance.pick(VALUES)).join(',')}]`);
      case 'type':
        return this.#replace(message, chance.pick(VALUES));
      case 'number':
        return this.#replace(message, chance.pick(NUMBERS));
      case 'surrogate':
        return this.#replace(message, `"${chance.pick(TEXTS)}"`);
      case 'duplicate': {
        const text = write(message).toString();
        return Buffer.from(`{${write(this.#damaged(message, 'null')).toString().slice(1, -1)},${text.slice(1)}`);
      }
      case 'missing': {
        const [holder, key] = this.#place(message);
        delete holder[key];
        return write(message);
      }
      case 'extra':
        return write({ ...message, [chance.pick(STRANGE_KEYS)]: RAW + chance.pick(VALUES) });
      case 'valid':
        return write(message);
    }
  }

  #replace(message: Record<string, unknown>, raw: string): Buffer {
    return write(this.#damaged(message, raw));
  }

  #damaged(message: Record<string, unknown>, raw: string): Record<string, unknown> {
    const [holder, key] = this.#place(message);
    holder[key] = RAW + raw;
    return message;
  }

  /** Somewhere in a message, at any depth. */
  #place(message: Record<string, unknown>): Place {
    const places = placesIn(message);
    return places.length === 0 ? [message, 'a'] : this.chance.pick(places);
  }
}

function placesIn(value: object): Place[] {
  const holder = value as Record<string, unknown>;
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]): Place[] => {
    const deeper = typeof inner === 'object' && inner !== null ? placesIn(inner) : [];
    return [[holder, key], ...deeper];
  });
}

function write(message: object): Buffer {
  const raws: string[] = [];
  const text = JSON.stringify(message, (_, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith(RAW)) return value;
    raws.push(value.slice(RAW.length));
    return RAW;
  });
  return Buffer.from(text.replaceAll(`"${RAW}"`, () => raws.shift() ?? 'null'));
}

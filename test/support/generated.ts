/** Generated test input. A seed gives the same values on every machine, so that a failure can be repeated. */
import { execFileSync } from 'node:child_process';
import { realPython } from './python.ts';

/** Values in an order that looks random. */
export class Generator {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to `below` - 1 (mulberry32). */
  number(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.number(values.length)];
    if (value === undefined) throw new RangeError('there is nothing to pick from');
    return value;
  }

  list<T>(maxLength: number, make: () => T): T[] {
    return Array.from({ length: this.number(maxLength + 1) }, make);
  }

  /** A text of up to `maxParts` of these parts. */
  text(parts: readonly string[], maxParts: number): string {
    return this.list(maxParts, () => this.pick(parts)).join('');
  }

  /** The text in pieces of one to `maxLength` characters. */
  pieces(text: string, maxLength: number): string[] {
    const pieces: string[] = [];
    for (let at = 0; at < text.length;) {
      const end = at + 1 + this.number(maxLength);
      pieces.push(text.slice(at, end));
      at = end;
    }
    return pieces;
  }
}

/** As many values as asked for, made by `make`. */
export function generate<T>(count: number, seed: number, make: (generator: Generator) => T): T[] {
  const generator = new Generator(seed);
  return Array.from({ length: count }, () => make(generator));
}

/** What a Python function makes of each input, in one process. `judge` is the source of `def judge(value): …`. */
export function judgeInPython<T>(judge: string, inputs: readonly unknown[]): T[] {
  const program = `import json, sys\n${judge}\njson.dump([judge(value) for value in json.load(sys.stdin)], sys.stdout)`;
  const output = execFileSync(realPython(), ['-I', '-W', 'ignore', '-c', program], {
    input: JSON.stringify(inputs),
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return JSON.parse(output) as T[];
}

/** Random programs. They mostly suit the state that the session is believed to hold. */
import type { Json } from '../../../src/execution/execution.ts';
import type { Chance } from '../../e2e/engine/chance.ts';
import {
  appendToFile,
  assign,
  change,
  compose,
  look,
  pause,
  print,
  printMuch,
  remove,
  removeFile,
  writeFile,
  type Ending,
  type Program,
  type Step,
} from './programs.ts';
import type { State } from './state.ts';

const FILES = ['a.txt', 'b.txt', 'c.csv'];
/** Above what a model reads, so that the output goes to a file as well. */
const MUCH = 150_000;

const DEATHS: readonly string[] = [
  'import os as _os; _os.abort()',
  'import os as _os; _os._exit(3)',
  'import os as _os; _os.kill(_os.getpid(), 9)',
  'import ctypes as _ctypes; _ctypes.string_at(0)',
  'def _hog(held):\n    while True: held.append(bytearray(b"x") * (32 << 20))\n_hog([])',
];

const LASTING: readonly string[] = [
  'while True: pass',
  'import time as _time; _time.sleep(600)',
  'while True: print("more")',
  // It ignores its interrupt, so that it has to be killed.
  'import time as _time\nwhile True:\n    try: _time.sleep(600)\n    except KeyboardInterrupt: pass',
  'import signal as _signal; _signal.signal(_signal.SIGINT, _signal.SIG_IGN)\nwhile True: pass',
];

/** Each child takes a process slot for a while. */
const CROWD = `import os as _os, time as _time
for _ in range(40):
    try: _pid = _os.fork()
    except OSError: break
    if _pid == 0:
        _time.sleep(0.7); _os._exit(0)`;

/** The name and the type of the variables that programs use; `n` counts steps. */
const NAMES = { n: 'int', i: 'int', j: 'int', l: 'list', m: 'list', d: 'dict', o: 'object', a: 'array', f: 'frame' };
type Name = keyof typeof NAMES;
export const FRAME = 'f' satisfies Name;

/** A program that ends by itself, or in one of the worse ways. */
export function randomProgram(chance: Chance, state: State): Program {
  const luck = chance.below(100);
  if (luck < 12) return look(chance.pick(['n', 'i', 'l']));
  const isLong = luck < 55;
  const steps = randomSteps(chance, state, isLong);
  if (luck < 62) return compose(steps, { kind: 'dies', code: chance.pick(DEATHS) });
  if (luck < 65) return compose([...steps, { code: CROWD, effect: () => [] }], { kind: 'succeeds' }, true);
  return compose(steps, randomEnding(chance));
}

/** A program that goes on until it is stopped, and that takes its steps slowly. */
export function lastingProgram(chance: Chance, state: State): Program {
  return compose(randomSteps(chance, state, true), { kind: 'lasts', code: chance.pick(LASTING) });
}

function randomEnding(chance: Chance): Ending {
  const luck = chance.below(10);
  if (luck < 1) return { kind: 'raises', code: 'raise ValueError("as planned")', name: 'ValueError' };
  if (luck < 2) return { kind: 'raises', code: '1 / 0', name: 'ZeroDivisionError' };
  return { kind: 'succeeds' };
}

function randomSteps(chance: Chance, state: State, isLong: boolean): Step[] {
  const count = Math.ceil(chance.below(isLong ? 6 : 3));
  return Array.from({ length: count }, () => [
    ...randomStep(chance, state),
    ...(isLong && chance.below(2) < 1 ? [pause(Math.round(chance.below(30)))] : []),
    ...(chance.below(2) < 1 && 'n' in state.variables ? [change('n', 'n += 1', (n) => Number(n) + 1)] : []),
  ]).flat();
}

function randomStep(chance: Chance, state: State): Step[] {
  const luck = chance.below(20);
  if (luck < 2) return [writeFile(chance.pick(FILES), text(chance))];
  if (luck < 3) return [appendToFile(chance.pick(FILES), text(chance))];
  if (luck < 3.5) return [removeFile(chance.pick(FILES))];
  if (luck < 4) return [printMuch(Math.round(chance.below(MUCH)))];
  const name = chance.pick(Object.keys(NAMES) as Name[]);
  if (luck < 5) return [remove(name)];
  if (!(name in state.variables) || luck < 9) return create(chance, name);
  return [alter(chance, name), ...(NAMES[name] === 'int' ? [print(name)] : [])];
}

/** Numbers are large and random, so that no two values are equal by accident. */
function number(chance: Chance): number {
  return Math.floor(chance.below(1e12));
}

function text(chance: Chance): string {
  return number(chance).toString(36);
}

function create(chance: Chance, name: Name): Step[] {
  const [one, two] = [number(chance), number(chance)];
  switch (NAMES[name]) {
    case 'int':
      return [assign(name, `${one}`, one)];
    case 'list':
      return [assign(name, `[${one}, ${two}]`, [one, two])];
    case 'dict':
      return [assign(name, `{"k": ${one}}`, { dict: { k: one } })];
    case 'object':
      return [assign(name, 'type("Box", (), {})()', { attributes: {} }), attribute(name, one)];
    case 'array':
      return [assign(name, `__import__("numpy").array([${one}, ${two}])`, { array: [one, two] })];
    default:
      return [assign(name, `__import__("pandas").DataFrame({"c": [${one}, ${two}]})`, { frame: { c: [one, two] } })];
  }
}

function alter(chance: Chance, name: Name): Step {
  const value = number(chance);
  switch (NAMES[name]) {
    case 'int':
      return change(name, `${name} += ${value}`, (old) => Number(old) + value);
    case 'list':
      return chance.below(2) < 1
        ? change(name, `${name}.append(${value})`, (old) => [...(old as Json[]), value])
        : change(name, `${name}[0] = ${value}`, (old) => [value, ...(old as Json[]).slice(1)]);
    case 'dict':
      return entry(name, chance.pick(['k', 'x', 'y']), value);
    case 'object':
      return attribute(name, value);
    case 'array':
      return change(name, `${name}[1] = ${value}`, (old) => ({ array: [(old as { array: Json[] }).array[0]!, value] }));
    default:
      return change(name, `${name}.iat[0, 0] = ${value}`, (old) => {
        const { c } = (old as { frame: { c: Json[] } }).frame;
        return { frame: { c: [value, ...c.slice(1)] } };
      });
  }
}

function attribute(name: Name, value: number): Step {
  return change(name, `${name}.x = ${value}`, () => ({ attributes: { x: value } }));
}

function entry(name: Name, key: string, value: number): Step {
  return change(name, `${name}["${key}"] = ${value}`, (old) => {
    const { dict } = old as { dict: Record<string, Json> };
    return { dict: { ...dict, [key]: value } };
  });
}

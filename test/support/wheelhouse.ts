/** A package index on disk: wheels that a test makes, and the variables that lead pip to them. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../../src/environment/command.ts';
import { BASE_ORDER } from '../../src/environment/find.ts';
import { takeInventory } from '../../src/environment/inventory.ts';
import { SET_NAMES } from '../../src/environment/library-sets.ts';

export interface WheelFacts {
  readonly name: string;
  readonly version: string;
  readonly requires?: readonly string[];
}

export class Wheelhouse {
  /** The variables that lead pip here, and to no other index. */
  readonly index: Readonly<Record<string, string>>;
  /** For a process that finds one Python and this index. */
  readonly env: NodeJS.ProcessEnv;
  readonly #wheels: string;
  readonly #python: string;

  private constructor(root: string, python: string) {
    this.#wheels = path.join(root, 'wheels');
    this.#python = python;
    this.index = { PIP_NO_INDEX: '1', PIP_FIND_LINKS: this.#wheels };
    this.env = { PATH: `${path.dirname(python)}:/usr/bin:/bin`, HOME: root, ...this.index };
  }

  static async open(root: string): Promise<Wheelhouse> {
    const { base } = await takeInventory('python3');
    const house = new Wheelhouse(root, base);
    await mkdir(house.#wheels);
    return house;
  }

  /** Makes a wheel of one module, whose `__version__` is that of the wheel. Returns its hash. */
  async add({ name, version, requires = [] }: WheelFacts): Promise<string> {
    const wheel = path.join(this.#wheels, `${name}-${version}-py3-none-any.whl`);
    const { succeeded, errors } = await run([this.#python, '-I', '-c', MAKE_WHEEL, wheel, name, version, ...requires], {
      env: this.env,
    });
    if (!succeeded) throw new Error(errors);
    return createHash('sha256')
      .update(await readFile(wheel))
      .digest('hex');
  }

  /** Adds a source package, which must not be built. */
  async addSource(name: string, version: string): Promise<void> {
    await writeFile(path.join(this.#wheels, `${name}-${version}.tar.gz`), '');
  }

  /** Writes the same lock for every set and version of Python. */
  async writeLocks(locksDir: string, content: string): Promise<void> {
    for (const set of SET_NAMES) {
      await mkdir(path.join(locksDir, set), { recursive: true });
      await Promise.all(BASE_ORDER.map((minor) => writeFile(path.join(locksDir, set, `${minor}.txt`), content)));
    }
  }
}

const MAKE_WHEEL = `
import sys, zipfile
file, name, version, *requires = sys.argv[1:]
info = f"{name}-{version}.dist-info/"
needs = "".join(f"Requires-Dist: {need}\\n" for need in requires)
with zipfile.ZipFile(file, "w") as wheel:
    wheel.writestr(name + ".py", f"__version__ = {version!r}\\n")
    wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n{needs}")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", f"{name}.py,,\\n{info}METADATA,,\\n{info}WHEEL,,\\n{info}RECORD,,\\n")
`;

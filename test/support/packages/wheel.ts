/** Makes wheels, also such as no build tool would make. */
import { crc32 } from 'node:zlib';

export interface Wheel {
  readonly filename: string;
  readonly content: Buffer;
}

export interface WheelParts {
  readonly name: string;
  readonly version?: string;
  readonly tag?: string;
  /** What it needs. */
  readonly requires?: readonly string[];
  readonly files: Readonly<Record<string, string | Buffer>>;
  /** Modes of files that are not plain ones. */
  readonly modes?: Readonly<Record<string, number>>;
}

const USUAL_MODE = 0o100644;

export function makeWheel({
  name,
  version = '1.0',
  tag = 'py3-none-any',
  requires = [],
  files,
  modes,
}: WheelParts): Wheel {
  const about = `${name.replaceAll('-', '_')}-${version}`;
  const metadata = ['Metadata-Version: 2.1', `Name: ${name}`, `Version: ${version}`].concat(
    requires.map((one) => `Requires-Dist: ${one}`),
  );
  const all = {
    ...files,
    [`${about}.dist-info/METADATA`]: `${metadata.join('\n')}\n`,
    [`${about}.dist-info/WHEEL`]: `Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: ${tag}\n`,
    [`${about}.dist-info/RECORD`]: '',
  };
  return { filename: `${about}-${tag}.whl`, content: zip(all, modes ?? {}) };
}

/** An archive without compression. */
function zip(files: Readonly<Record<string, string | Buffer>>, modes: Readonly<Record<string, number>>): Buffer {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, given] of Object.entries(files)) {
    const [data, path] = [Buffer.from(given as string), Buffer.from(name)];
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(0x800, 2); // names are UTF-8
    facts.writeUInt16LE(0x21, 8); // the first day that there is
    facts.writeUInt32LE(crc32(data), 10);
    facts.writeUInt32LE(data.length, 14);
    facts.writeUInt32LE(data.length, 18);
    facts.writeUInt16LE(path.length, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(((modes[name] ?? USUAL_MODE) << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    local.push(Buffer.from('PK\u0003\u0004'), facts, path, data);
    central.push(Buffer.from('PK\u0001\u0002'), Buffer.from([20, 3]), facts, rest, path);
    offset += 4 + facts.length + path.length + data.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  const count = Object.keys(files).length;
  end.writeUInt16LE(count, 4);
  end.writeUInt16LE(count, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...local, directory, Buffer.from('PK\u0005\u0006'), end]);
}

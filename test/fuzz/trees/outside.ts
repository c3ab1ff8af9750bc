/** What lies on the machine beside the sessions: secrets that nobody may see, and files that nobody may change. */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

const LONG_AGO = new Date('2001-02-03T04:05:06Z');

export class Outside {
  readonly directory: string;
  /** Is in the secret files, and in the environment of this process. No session knows it. */
  readonly token = `canary-${randomBytes(16).toString('hex')}`;
  readonly #before: readonly string[];

  constructor(directory: string) {
    this.directory = directory;
    process.env['FUZZ_CANARY'] = this.token; // where a link to /proc/self/environ leads if somebody here follows it
    mkdirSync(path.join(directory, 'decoy', 'inner'), { recursive: true });
    mkdirSync(path.join(directory, 'decoy', 'empty'), { mode: 0o777 });
    this.#write('private.txt', 0o600);
    for (const name of ['secret.txt', 'decoy/a', 'decoy/upload.txt', 'decoy/inner/file.txt']) this.#write(name, 0o644);
    this.#write('decoy/inner/run-1.stdout.txt', 0o666);
    symlinkSync('inner', path.join(directory, 'decoy', 'link'));
    for (const name of ['decoy/inner', 'decoy/empty', 'decoy', '.'])
      utimesSync(path.join(directory, name), LONG_AGO, LONG_AGO);
    this.#before = describe(directory);
  }

  /** What is other than it was, in words. */
  changes(): string[] {
    const now = describe(this.directory);
    const gone = this.#before.filter((line) => !now.includes(line));
    const came = now.filter((line) => !this.#before.includes(line));
    return [...gone.map((line) => `gone: ${line}`), ...came.map((line) => `new: ${line}`)];
  }

  #write(name: string, mode: number): void {
    const file = path.join(this.directory, name);
    writeFileSync(file, `${name} ${this.token}\n`.repeat(10));
    chmodSync(file, mode);
    utimesSync(file, LONG_AGO, LONG_AGO);
  }
}

/** A line for each entry: kind, mode, owner, times and content. */
function describe(directory: string): string[] {
  const names = ['.', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })].toSorted();
  return names.map((name) => {
    const file = path.join(directory, name);
    const { mode, uid, gid, nlink, size, mtimeMs } = lstatSync(file);
    const content = contentOf(file, mode);
    return [name, mode.toString(8), uid, gid, nlink, size, mtimeMs, content].join(' ');
  });
}

const KIND = 0o170_000;

function contentOf(file: string, mode: number): string {
  if ((mode & KIND) === 0o120_000) return readlinkSync(file);
  return (mode & KIND) === 0o100_000 ? createHash('sha256').update(readFileSync(file)).digest('hex') : '';
}

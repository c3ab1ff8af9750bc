import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { Limits } from '../../config.ts';
import { ServiceConfigurationError } from '../api/failures.ts';
import type { RecordFolder } from './folder.ts';
import { FOLDERS } from './names.ts';

/** A file that came with a request. Its copy is in the record. */
export interface InputFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

const MAX_FILES = 100;
/** The largest upload that a session accepts. */
const MAX_BYTES = Limits.parse({}).fileMb * 2 ** 20;
/** One name without characters that could mislead a reader. Hidden names are reserved for the service. */
const NAME = /^(?!\.)[^/\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{1,200}$/u;

/** Copies files into the record, each under the name that the code will see. */
export async function copyInputs(folder: RecordFolder, files: Readonly<Record<string, string>>): Promise<InputFile[]> {
  const entries = Object.entries(files);
  if (entries.length > MAX_FILES) throw refused(`The request has ${entries.length} files`, `Pass at most ${MAX_FILES}`);
  const inputs: InputFile[] = [];
  for (const [name, path] of entries) {
    if (!NAME.test(name)) throw refused(`${JSON.stringify(name)} cannot be the name of a file`, 'Use a plain name');
    await using file = await openSource(path);
    const meter = new Meter(path);
    await folder.write(name, meter.pass(file.createReadStream({ autoClose: false })), FOLDERS.inputs);
    inputs.push({ name, ...meter.facts() });
  }
  return inputs;
}

/** Reads the copy, and checks that it has not changed: somebody may have approved code because of it. */
export async function* readInput(
  folder: RecordFolder,
  { name, sha256 }: InputFile,
): AsyncGenerator<Uint8Array, void, undefined> {
  const meter = new Meter(name);
  yield* meter.pass(await folder.open(name, FOLDERS.inputs));
  if (meter.facts().sha256 === sha256) return;
  throw refused(`The file ${name} in the record is not the one that came with the request`, 'Send the request again');
}

async function openSource(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // opening a FIFO would block
    if ((await file.stat()).isFile()) return file;
    await file.close();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw refused(`The file ${path} cannot be read (${why})`, 'Check the path', error);
  }
  throw refused(`${path} is not a regular file`, 'Pass files one by one');
}

/** Measures and hashes the data that passes through, up to the size that a session accepts. */
class Meter {
  readonly #name: string;
  readonly #hash = createHash('sha256');
  #sizeBytes = 0;

  constructor(name: string) {
    this.#name = name;
  }

  async *pass(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      this.#sizeBytes += chunk.length;
      if (this.#sizeBytes > MAX_BYTES)
        throw refused(`The file ${this.#name} is larger than ${MAX_BYTES} bytes`, 'Split it');
      this.#hash.update(chunk);
      yield chunk;
    }
  }

  facts(): Omit<InputFile, 'name'> {
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.copy().digest('hex') };
  }
}

function refused(what: string, advice: string, cause?: unknown): ServiceConfigurationError {
  return new ServiceConfigurationError(`${what}. ${advice}.`, cause === undefined ? {} : { cause });
}

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { Limits } from '../../config.ts';
import { ServiceConfigurationError } from '../api/failures.ts';
import type { RecordFolder } from './folder.ts';
import { INPUTS } from './names.ts';

/** A file that came with a request; its copy lies in the record. */
export interface InputFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

const MAX_FILES = 100;
/** What a session takes. */
const MAX_BYTES = Limits.parse({}).fileMb * 2 ** 20;
/** One name without anything that fools its reader; hidden ones are for the service. */
const NAME = /^(?!\.)[^/\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{1,200}$/u;

/** Copies files into the record, by the name that the code has for each. */
export async function copyInputs(folder: RecordFolder, files: Readonly<Record<string, string>>): Promise<InputFile[]> {
  const entries = Object.entries(files);
  if (entries.length > MAX_FILES) throw refused(`There are ${entries.length} files`, `Give at most ${MAX_FILES}`);
  const inputs: InputFile[] = [];
  for (const [name, path] of entries) {
    if (!NAME.test(name)) throw refused(`${JSON.stringify(name)} cannot be the name of a file`, 'Use a plain name');
    await using file = await openSource(path);
    const meter = new Meter(path);
    await folder.write(name, meter.pass(file.createReadStream({ autoClose: false })), INPUTS);
    inputs.push({ name, ...meter.facts() });
  }
  return inputs;
}

/** The copy, which must be what was given: somebody may have approved code on the strength of it. */
export async function* readInput(
  folder: RecordFolder,
  { name, sha256 }: InputFile,
): AsyncGenerator<Uint8Array, void, undefined> {
  const meter = new Meter(name);
  yield* meter.pass(await folder.open(name, INPUTS));
  if (meter.facts().sha256 === sha256) return;
  throw refused(`The file ${name} in the record is not the one that came with the request`, 'Make the request again');
}

async function openSource(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // a FIFO would make it wait
    if ((await file.stat()).isFile()) return file;
    await file.close();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw refused(`The file ${path} cannot be read (${why})`, 'Check the path', error);
  }
  throw refused(`${path} is not a regular file`, 'Name files one by one');
}

/** Size and hash of what passes, which may not be more than a session takes. */
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
        throw refused(`The file ${this.#name} has more than ${MAX_BYTES} bytes`, 'Split it');
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

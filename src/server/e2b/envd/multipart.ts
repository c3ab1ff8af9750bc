/** Reads the files of a multipart form while they arrive, none of them as a whole. */
import { VivariumError } from '../../../errors.ts';

const MAX_HEAD_BYTES = 16 << 10;

/** A file of a form. Its content must be read before the next file is asked for. */
export interface FormFile {
  /** As the form names it; a path, with E2B's SDKs. */
  readonly filename: string;
  readonly content: AsyncGenerator<Uint8Array, void, undefined>;
}

/** The boundary in a content type, or undefined if it is not that of a form. */
export function boundaryOf(contentType: string): string | undefined {
  const [, quoted, plain] =
    /^multipart\/form-data\s*;.*?boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? [];
  return quoted ?? plain;
}

/** Fields that are not files are passed over. */
export async function* readForm(
  chunks: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<FormFile, void, undefined> {
  await using input = new FormInput(chunks);
  const mark = Buffer.from(`\r\n--${boundary}`);
  input.putBack(Buffer.from('\r\n')); // so that the first boundary looks like the others
  await exhaust(input.until(mark));
  while (await isNext(input)) {
    const head = await input.head();
    const filename = filenameIn(head);
    const content = input.until(mark);
    if (filename !== undefined) yield { filename, content };
    await exhaust(content);
  }
  await input.drain();
}

/** After a boundary comes a line break, or `--` at the end of the form. */
async function isNext(input: FormInput): Promise<boolean> {
  const sign = (await input.take(2)).toString('latin1');
  if (sign === '--') return false;
  if (sign === '\r\n') return true;
  throw broken();
}

function filenameIn(head: string): string | undefined {
  const line = head.split('\r\n').find((one) => /^content-disposition:/i.test(one));
  const [, name] = /[;\s]filename="((?:[^"\\]|\\.)*)"/i.exec(line ?? '') ?? [];
  return name
    ?.replaceAll(/\\(["\\])/g, '$1')
    .replaceAll(/%(22|0D|0A)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

class FormInput implements AsyncDisposable {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #buffer: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  putBack(bytes: Buffer): void {
    this.#buffer = Buffer.concat([bytes, this.#buffer]);
  }

  async take(size: number): Promise<Buffer> {
    while (this.#buffer.length < size) await this.#more();
    return this.#cut(size);
  }

  /** The lines before a content, up to the empty one. */
  async head(): Promise<string> {
    this.putBack(Buffer.from('\r\n')); // there may be no line at all
    for (;;) {
      const end = this.#buffer.indexOf('\r\n\r\n');
      if (end >= 0) return this.#cut(end + 4).toString('utf8');
      if (this.#buffer.length > MAX_HEAD_BYTES) throw broken();
      await this.#more();
    }
  }

  /** Everything up to a mark, which is taken too. */
  async *until(mark: Buffer): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const end = this.#buffer.indexOf(mark);
      // The beginning of a mark may be at the end of what has arrived.
      const size = end >= 0 ? end : Math.max(0, this.#buffer.length - mark.length + 1);
      if (size > 0) yield this.#cut(size);
      if (end >= 0) {
        this.#cut(mark.length);
        return;
      }
      await this.#more();
    }
  }

  /** Reads what follows the form, so that the request is complete. */
  async drain(): Promise<void> {
    for (let next = await this.#chunks.next(); next.done !== true; next = await this.#chunks.next());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return?.();
  }

  async #more(): Promise<void> {
    const next = await this.#chunks.next();
    if (next.done === true) throw broken();
    this.#buffer = Buffer.concat([this.#buffer, next.value]);
  }

  #cut(size: number): Buffer {
    const cut = this.#buffer.subarray(0, size);
    this.#buffer = this.#buffer.subarray(size);
    return cut;
  }
}

async function exhaust(content: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of content);
}

function broken(): VivariumError {
  return new VivariumError('REQUEST_INVALID', 'The form is not complete, or not one of the type multipart/form-data.');
}

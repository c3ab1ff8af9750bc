/** Media types of files and figures. They are told by name alone: contents come from untrusted code. */
import path from 'node:path';
import mime from 'mime/lite';

const UNKNOWN = 'application/octet-stream';

/** A figure that its library draws when somebody looks at it. */
export const PLOTLY = 'application/vnd.plotly.v1+json';

/** Charts of Altair: the specification with its data, in the version that the library speaks. */
export const VEGA_LITE = [5, 6, 7].map((version) => `application/vnd.vegalite.v${version}+json`);

/** What data programs write and the package does not know, or knows by an older name. */
const MORE_TYPES: ReadonlyMap<string, string> = new Map([
  ['bz2', 'application/x-bzip2'],
  ['db', 'application/vnd.sqlite3'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['feather', 'application/vnd.apache.arrow.file'],
  ['h5', 'application/x-hdf5'],
  ['ico', 'image/vnd.microsoft.icon'],
  ['ipynb', 'application/x-ipynb+json'],
  ['jsonl', 'application/jsonl'],
  ['parquet', 'application/vnd.apache.parquet'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['py', 'text/x-python'],
  ['sqlite', 'application/vnd.sqlite3'],
  ['tar', 'application/x-tar'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
]);

/** The media type that the extension of a file stands for. */
export function mimeOf(name: string): string {
  const extension = path.posix.extname(name).slice(1).toLowerCase();
  if (extension === '') return UNKNOWN;
  return MORE_TYPES.get(extension) ?? mime.getType(extension) ?? UNKNOWN;
}

/** The extension for a figure of this type, with its dot. */
export function extensionOf(type: string): string {
  if (VEGA_LITE.includes(type)) return '.vl.json';
  return type === PLOTLY ? '.plotly.json' : `.${mime.getExtension(type) ?? 'png'}`;
}

export function isImage({ mime: type }: { readonly mime: string }): boolean {
  return type.startsWith('image/');
}

/** The bytes of one form of a result: images come as base64, everything else and SVG as text. */
export function decodeForm(type: string, content: string): Buffer {
  return Buffer.from(content, isImage({ mime: type }) && type !== 'image/svg+xml' ? 'base64' : 'utf8');
}

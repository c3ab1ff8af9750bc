import path from 'node:path';

const DEFAULT = 'application/octet-stream';

/** Types of files that data programs read and write. If a type has several extensions, the last is the usual one. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['avif', 'image/avif'],
  ['bmp', 'image/bmp'],
  ['bz2', 'application/x-bzip2'],
  ['css', 'text/css'],
  ['csv', 'text/csv'],
  ['db', 'application/vnd.sqlite3'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['feather', 'application/vnd.apache.arrow.file'],
  ['geojson', 'application/geo+json'],
  ['gif', 'image/gif'],
  ['gz', 'application/gzip'],
  ['h5', 'application/x-hdf5'],
  ['htm', 'text/html'],
  ['html', 'text/html'],
  ['ico', 'image/vnd.microsoft.icon'],
  ['ipynb', 'application/x-ipynb+json'],
  ['jpeg', 'image/jpeg'],
  ['jpg', 'image/jpeg'],
  ['js', 'text/javascript'],
  ['json', 'application/json'],
  ['jsonl', 'application/jsonl'],
  ['log', 'text/plain'],
  ['md', 'text/markdown'],
  ['mp3', 'audio/mpeg'],
  ['mp4', 'video/mp4'],
  ['parquet', 'application/vnd.apache.parquet'],
  ['pdf', 'application/pdf'],
  ['png', 'image/png'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['py', 'text/x-python'],
  ['sqlite', 'application/vnd.sqlite3'],
  ['svg', 'image/svg+xml'],
  ['tar', 'application/x-tar'],
  ['tif', 'image/tiff'],
  ['tiff', 'image/tiff'],
  ['toml', 'application/toml'],
  ['tsv', 'text/tab-separated-values'],
  ['txt', 'text/plain'],
  ['wav', 'audio/wav'],
  ['webm', 'video/webm'],
  ['webp', 'image/webp'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['xml', 'application/xml'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['zip', 'application/zip'],
]);

const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ...[...TYPES].map(([extension, mime]) => [mime, extension] as const),
  ['application/vnd.plotly.v1+json', 'plotly.json'],
]);

/** The media type of a file by its extension. Its content is not looked at, since it comes from untrusted code. */
export function mimeOf(name: string): string {
  return TYPES.get(path.posix.extname(name).slice(1).toLowerCase()) ?? DEFAULT;
}

/** The usual extension of files of a media type, without the dot; `bin` if none is known. */
export function extensionOf(mime: string): string {
  return EXTENSIONS.get(mime) ?? 'bin';
}

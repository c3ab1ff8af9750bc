import path from 'node:path';

const DEFAULT = 'application/octet-stream';

/** What programs for data write and read. Types are told by name alone: contents come from untrusted code. */
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

/** The media type that the extension of a file stands for. */
export function mimeOf(name: string): string {
  return TYPES.get(path.posix.extname(name).slice(1).toLowerCase()) ?? DEFAULT;
}

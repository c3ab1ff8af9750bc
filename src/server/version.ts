import { readFileSync } from 'node:fs';

/** The version of this package, which is at the same depth from `src/server` as from `dist/library` and `dist/bin`. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}

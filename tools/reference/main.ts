/** `npm run fix` writes the reference of the API with this. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readReference } from './reference.ts';

for (const [file, text] of readReference().pages) {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/**
 * Completes the types that tsc has written: those of zod, which is bundled, come along, and types that no entry point leads
 * to are removed.
 */
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const OUTPUT = 'dist';
const ZOD = 'node_modules/zod';
const OWN_ZOD = path.join(OUTPUT, 'zod');
const ENTRIES = ['index', 'tools', 'agent', 'service', 'server'];

copyTypesOfZod();
for (const file of globSync(`${OUTPUT}/**/*.d.ts`, { exclude: [`${OWN_ZOD}/**`] })) leadToOwnZod(file);
removeUnreachableTypes();

function copyTypesOfZod(): void {
  for (const name of ['index.d.ts', ...globSync('v4/{classic,core,locales}/**/*.d.ts', { cwd: ZOD }), 'LICENSE']) {
    const target = path.join(OWN_ZOD, name);
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(path.join(ZOD, name), target);
  }
}

function leadToOwnZod(file: string): void {
  const place = path.relative(path.dirname(file), path.join(OWN_ZOD, 'index.d.ts')).replace(/^(?!\.)/u, './');
  const source = readFileSync(file, 'utf8');
  const changed = source.replaceAll(
    /(?<=from |import\()(?<quote>['"])zod\k<quote>/gu,
    `'${place.replace(/\.d\.ts$/u, '.js')}'`,
  );
  if (changed !== source) writeFileSync(file, changed);
}

/** They are of no use to anybody. */
function removeUnreachableTypes(): void {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file) || !existsSync(file)) return;
    reached.add(file);
    const found = readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*['"](?<name>\.[^'"]+)\.[jt]s['"]/gu);
    for (const { groups } of found) visit(path.join(path.dirname(file), `${groups?.['name']}.d.ts`));
  };
  for (const name of ENTRIES) visit(path.join(OUTPUT, `${name}.d.ts`));
  for (const file of globSync(`${OUTPUT}/**/*.d.ts`)) if (!reached.has(file)) rmSync(file);
}

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { VivariumError } from './errors.ts';
import { loadOptional, NEEDED } from './packages.ts';

interface Manifest {
  /** Absent: everything else is bundled. */
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
}

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Manifest;

test('what to install are the versions that are tested, all of them optional', () => {
  const { dependencies = {}, devDependencies, peerDependencies, peerDependenciesMeta } = manifest;
  const needed = new Set(Object.values(NEEDED).flat());
  const names = [...needed].map((item) => item.slice(0, item.lastIndexOf('@')));
  expect(names.toSorted()).toEqual(Object.keys(peerDependencies).toSorted());
  for (const name of names) {
    const version = devDependencies[name];
    expect(needed).toContain(`${name}@~${version}`);
    expect(peerDependencies[name]).toBe(`^${version}`);
    expect(peerDependenciesMeta[name]).toEqual({ optional: true });
    expect(dependencies).not.toHaveProperty([name]);
  }
});

test('a missing package is told with what to install; every other error is passed on', async () => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  const error: unknown = await loadOptional('A part', ['a@1', 'b@2'], () => Promise.reject(missing)).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(VivariumError);
  expect(error).toMatchObject({ code: 'PACKAGE_MISSING', cause: missing });
  expect(String(error)).toContain(
    'A part needs packages that are not installed with Vivarium. Run: npm install a@1 b@2',
  );
  const other = new TypeError('wrong');
  await expect(loadOptional('A part', [], () => Promise.reject(other))).rejects.toBe(other);
});

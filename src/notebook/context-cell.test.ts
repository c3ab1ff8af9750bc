import { expect, test } from 'vitest';
import { contextCell } from './context-cell.ts';

test('a loader is embedded as it is, whatever is in it', () => {
  const plain = contextCell('context', { loader: 'class Context:\n    """One."""\n', path: 'a "b".json' }).source.join(
    '',
  );
  expect(plain).toContain('exec(r\'\'\'class Context:\n    """One."""\n\'\'\'');
  expect(plain).toMatch(/context = load_context\("a \\"b\\".json"\)$/);
  for (const loader of ["x = '''text'''", String.raw`x = "\d"`]) {
    const { source } = contextCell('context', { loader, path: 'context.json' });
    expect(source.join('')).toContain(`exec(${JSON.stringify(loader)}, `);
  }
});

import { expect, test } from 'vitest';
import { extensionOf, mimeOf } from './mime.ts';

test('the extension decides the type, whatever its case', () => {
  expect(mimeOf('plots/Figure.PNG')).toBe('image/png');
  expect(mimeOf('archive.tar.gz')).toBe('application/gzip');
  expect(mimeOf('README')).toBe('application/octet-stream');
  expect(mimeOf('.png')).toBe('application/octet-stream');
});

test('a type has one usual extension', () => {
  const types = ['image/jpeg', 'text/html', 'text/plain', 'image/tiff', 'application/vnd.plotly.v1+json', 'x/unknown'];
  expect(types.map(extensionOf)).toEqual(['jpg', 'html', 'txt', 'tiff', 'plotly.json', 'bin']);
});

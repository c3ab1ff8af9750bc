import { expect, test } from 'vitest';
import type { LoadedFigure } from './figures.ts';
import { dataUriOf, imagesOf } from './images.ts';

function figure(mime: string, sizeBytes = 3): LoadedFigure {
  return { figure: { mime, sizeBytes }, bytes: Buffer.alloc(sizeBytes) };
}

test('figures become pictures in base64, in order', () => {
  const { images = [] } = imagesOf([figure('image/png'), figure('image/jpeg')]);
  expect(images).toEqual([
    { mimeType: 'image/png', data: 'AAAA' },
    { mimeType: 'image/jpeg', data: 'AAAA' },
  ]);
  expect(images.map(dataUriOf)[0]).toBe('data:image/png;base64,AAAA');
});

test('what no model takes is left out: drawings, interactive figures and very large pictures', () => {
  const refused = [figure('image/svg+xml'), figure('application/vnd.plotly.v1+json'), figure('image/png', 3_750_001)];
  expect(imagesOf(refused)).toEqual({});
});

test('only the first eight pictures are shown', () => {
  const { images = [] } = imagesOf([...Array.from({ length: 8 }, () => figure('image/png')), figure('image/webp')]);
  expect(images.map(({ mimeType }) => mimeType)).toEqual(Array.from({ length: 8 }, () => 'image/png'));
});

import { expect, test } from 'vitest';
import { makeVisible, visibleJson } from './visible.ts';

const HOSTILE = 'a\u001B[2Jb\rc\u202Ed\u200Be\u009B1mf\u{E0041}g';

test('invisible characters become escapes; new lines stay', () => {
  expect(makeVisible(`${HOSTILE}\n\tnext`)).toBe(
    'a\\u{1b}[2Jb\\u{d}c\\u{202e}d\\u{200b}e\\u{9b}1mf\\u{e0041}g\n    next',
  );
});

test('visible JSON has the same value', () => {
  const text = visibleJson({ [HOSTILE]: [HOSTILE, 'é✓\uD800'] }, 2);
  expect(JSON.parse(text)).toEqual({ [HOSTILE]: [HOSTILE, 'é✓\uD800'] });
  expect(text.replaceAll('\n', '')).toMatch(/^[^\p{Cc}\p{Cf}\p{Cs}]*$/u);
});

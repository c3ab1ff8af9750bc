import { expect, test } from 'vitest';
import { cleanText, escapeControls, makeVisible, visibleJson } from './visible.ts';

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

test('text of several lines keeps its lines, colours excepted, and what languages and emoji need', () => {
  expect(cleanText(`a\u001B[31mred\u001B[0m\n\tb\r\n${HOSTILE}`)).toBe(
    'ared\n\tb\r\nab\rc\\u{202e}d\u200Bef\\u{e0041}g',
  );
  expect(cleanText('👨‍👩‍👧 می‌خواهم Grüße')).toBe('👨‍👩‍👧 می‌خواهم Grüße');
  expect(escapeControls('\u001B[31m\u0007\n\u2029')).toBe('\\u{1b}[31m\\u{7}\n\\u{2029}');
});

/** Makes untrusted text safe to show: nothing in it can move the cursor, hide text or change the writing direction. */
import { escapeAnsi } from './clean-text.ts';

/** Control and format characters, line and paragraph separators, private use characters and lone surrogates. */
const DECEPTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

/**
 * What no text of several lines needs: control characters but tab, new line and carriage return, changes of the writing
 * direction, and characters that only a model can see. Joiners stay, which emoji and many languages need.
 */
export const UNSAFE =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu;

/** Text of a program for a reader: without terminal sequences, and with other control characters as escapes. */
export function cleanText(text: string): string {
  return escapeControls(escapeAnsi(text));
}

/** Shows control characters and changes of the writing direction as escapes such as `\u{1b}`. Line ends and tabs stay. */
export function escapeControls(text: string): string {
  return text.replaceAll(UNSAFE, escapeOf);
}

/** Shows invisible characters as escapes such as `\u{1b}`. New lines stay, tabs become spaces. */
export function makeVisible(text: string): string {
  return text.replaceAll('\t', '    ').replaceAll(DECEPTIVE, (character) => {
    return character === '\n' ? character : escapeOf(character);
  });
}

function escapeOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** Equivalent JSON without invisible characters. */
export function visibleJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(DECEPTIVE, (character) => {
    if (character === '\n') return character; // only between values: within strings it is escaped
    return Array.from({ length: character.length }, (_, index) => unit(character.charCodeAt(index))).join('');
  });
}

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

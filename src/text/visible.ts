/** Makes untrusted text safe to show: nothing in it can move the cursor, hide text or change the writing direction. */

/** Control and format characters, line and paragraph separators, private use characters and lone surrogates. */
const DECEPTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

/** Shows invisible characters as escapes such as `\u{1b}`. New lines stay, tabs become spaces. */
export function makeVisible(text: string): string {
  return text.replaceAll('\t', '    ').replaceAll(DECEPTIVE, (character) => {
    return character === '\n' ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
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

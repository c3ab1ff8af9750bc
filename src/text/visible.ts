/** Text of others on a screen: nothing in it moves the cursor, hides, or changes the direction of writing. */

/** Controls, format characters, separators of lines and paragraphs, private use and halves of characters. */
const DECEPTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

/** Shows what cannot be seen as `\u{1b}`, whatever it is; new lines stay, tabs become spaces. */
export function makeVisible(text: string): string {
  return text.replaceAll('\t', '    ').replaceAll(DECEPTIVE, (character) => {
    return character === '\n' ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** JSON that means the same and hides nothing from whoever looks at it on a terminal. */
export function visibleJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(DECEPTIVE, (character) => {
    if (character === '\n') return character; // only between values: within them it is escaped
    return Array.from({ length: character.length }, (_, index) => unit(character.charCodeAt(index))).join('');
  });
}

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

/** The escape sequence that shows a PNG in this terminal. Undefined if the terminal is not known to show pictures. */
export function inlinePicture(png: Buffer, { TERM = '', TERM_PROGRAM = '' }: NodeJS.ProcessEnv): string | undefined {
  const base64 = png.toString('base64');
  if (TERM_PROGRAM === 'iTerm.app' || TERM_PROGRAM === 'vscode') {
    return `\u001B]1337;File=inline=1;size=${png.length}:${base64}\u0007\n`;
  }
  return /kitty|ghostty|wezterm/iu.test(`${TERM} ${TERM_PROGRAM}`) ? `${kittyPicture(base64)}\n` : undefined;
}

/** The protocol of kitty takes pieces of at most 4096 characters. Only the first one states the format. */
function kittyPicture(base64: string): string {
  const pieces = base64.match(/.{1,4096}/gu) ?? [];
  return pieces
    .map((piece, index) => {
      const more = index < pieces.length - 1 ? 1 : 0;
      return `\u001B_G${index === 0 ? 'a=T,f=100,' : ''}m=${more};${piece}\u001B\\`;
    })
    .join('');
}

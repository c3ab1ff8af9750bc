/** What a session says that code can be completed with. It is the program's own word: checked against the code, and clean. */
import { makeVisible } from '../text/visible.ts';
import type { Completion } from './engine.ts';
import type { FoundNames } from './python-words.ts';
import type { Shaped } from './shape.ts';

/** More than a line has. What comes before hardly matters to what is completed. */
const MAX_CHARS = 20_000;

/** The text that a session gets to see. */
export function textBefore(code: string, cursor: number): string {
  return code.slice(Math.max(0, cursor - MAX_CHARS), cursor).toWellFormed();
}

/** Only what extends the code before the cursor counts, and only if nothing in it is invisible. */
export function completionAt(code: string, cursor: number, { prefix, matches }: Shaped<typeof FoundNames>): Completion {
  if (!code.slice(0, cursor).endsWith(prefix)) return { matches: [], start: cursor, end: cursor };
  const fitting = matches.filter((match) => match.startsWith(prefix) && isOneVisibleLine(match));
  return { matches: [...new Set(fitting)], start: cursor - prefix.length, end: cursor };
}

function isOneVisibleLine(text: string): boolean {
  return !text.includes('\n') && makeVisible(text) === text;
}

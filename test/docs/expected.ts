/** Compares what a program printed with what a page says that it prints. */

/** `…` in a line stands for any text in it; a line that is nothing but `…` for any number of lines. */
export function matchesOutput(printed: string, shown: string): boolean {
  const pattern = shown
    .trimEnd()
    .split('\n')
    .map((line) =>
      line.trim() === '…'
        ? '(?:[^\\n]*\\n)*?'
        : `${line
            .split('…')
            .map((part) => RegExp.escape(part))
            .join('[^\\n]*')}\\n`,
    )
    .join('');
  return new RegExp(`^${pattern}$`, 'u').test(`${printed.trimEnd()}\n`);
}

/** What comments such as `// prints 42` promise, in order. */
export function promisedLines(code: string): string[] {
  return [...code.matchAll(/(?:\/\/|#) prints (?<line>.*)$/gmu)].map(({ groups }) => groups?.['line'] ?? '');
}

/** Whether these lines are among the printed ones, in order. */
export function hasLines(printed: string, promised: readonly string[]): boolean {
  let from = 0;
  const lines = printed.split('\n');
  return promised.every((line) => {
    from = lines.findIndex((candidate, index) => index >= from && matchesOutput(candidate, line)) + 1;
    return from > 0;
  });
}

/** Reads declaration files as the compiler writes them: one statement after the other, members indented by four spaces. */

export interface Declaration {
  readonly name: string;
  readonly kind: 'interface' | 'class' | 'function' | 'const' | 'type';
  /** Its comment, as text. */
  readonly doc: string;
  /** Without its comment, `export` and `declare`. */
  readonly code: string;
  /** Of an interface, or of a type that is written like one. */
  readonly members: readonly Member[];
}

export interface Member {
  readonly name: string;
  readonly doc: string;
}

const START =
  /^(?<comment>\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export (?:declare )?(?:abstract )?(?<kind>interface|class|function|const|type) (?<name>\w+)/gmu;

export function declarationsIn(file: string): Declaration[] {
  return [...file.matchAll(START)].map(({ index, groups }) => {
    const { comment = '', kind = '', name = '' } = groups ?? {};
    const code = statementAt(file, index + comment.length).replace(/^export (?:declare )?/u, '');
    return {
      name,
      kind: kind as Declaration['kind'],
      doc: textOf(comment),
      code: tidy(code),
      members: membersOf(code),
    };
  });
}

/** From here to the `;` or `}` that ends it. */
function statementAt(file: string, start: number): string {
  const isBlock = /^export (?:declare )?(?:abstract )?(?:interface|class)/u.test(file.slice(start, start + 60));
  const tokens = /\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[{}()[\];]/gu;
  tokens.lastIndex = start;
  let depth = 0;
  for (let token = tokens.exec(file); token !== null; token = tokens.exec(file)) {
    if ('{(['.includes(token[0])) depth += 1;
    if ('})]'.includes(token[0])) depth -= 1;
    const isEnd = depth === 0 && (isBlock ? token[0] === '}' && file[token.index - 1] === '\n' : token[0] === ';');
    if (isEnd || (isBlock && depth === 0 && file.startsWith('{}', token.index - 1))) {
      return file.slice(start, tokens.lastIndex);
    }
  }
  return file.slice(start);
}

const MEMBER =
  /(?:^ {4}(?<comment>\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\n)?^ {4}(?:readonly )?(?<name>[\w$'"~-]+)\??(?=[:(<])/gmu;

function membersOf(code: string): Member[] {
  return [...code.matchAll(MEMBER)].map(({ groups }) => ({
    name: (groups?.['name'] ?? '').replaceAll(/['"]/gu, ''),
    doc: textOf(groups?.['comment'] ?? ''),
  }));
}

function textOf(comment: string): string {
  const lines = comment
    .replace(/^\s*\/\*\*/u, '')
    .replace(/\*\/\s*$/u, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/u, '').trim());
  return lines.join('\n').trim();
}

/** With two spaces, like the sources, and without what is private. */
function tidy(code: string): string {
  return code
    .split('\n')
    .filter((line) => !/^\s+(?:#private;|private )/u.test(line))
    .map((line) => line.replace(/^(?: {4})+/u, (indent) => ' '.repeat(indent.length / 2)))
    .join('\n');
}

/** Shell commands and magics, as notebooks have them, made into Python that does no harm. */

const DISABLED = "print('Assume we have this package, ! is disabled!')";
const SHELLS = new Set(['!', 'bash', 'sh', 'script', 'system', 'sx', 'sc', 'cmd', 'perl', 'ruby']);
const INSTALLERS = new Set(['pip', 'conda', 'mamba', 'micromamba', 'uv']);
const SILENT = new Set(['matplotlib', 'pylab', 'config', 'load_ext', 'reload_ext', 'unload_ext', 'autoreload']);
/** Cell magics whose cell is Python, run as it is. */
const AROUND_PYTHON = new Set(['time', 'timeit', 'capture', 'prun', 'python', 'python3']);

/** What has to be read to know where a statement begins: strings, comments, brackets, joined lines and ends of lines. */
const TOKEN =
  /#[^\n]*|"""(?:\\[^]|(?!""")[^])*(?:"""|$)|'''(?:\\[^]|(?!''')[^])*(?:'''|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?|[([{]|[)\]}]|\\\n|\n/g;
const CELL_MAGIC = /^\s*%%(?<name>!|\w+)(?<rest>[^\n]*)(?:\n|$)/;
/** At the start of a statement; `a != b` cannot stand there. */
const LINE =
  /(?<indent>[ \t]*)(?![ \t])(?<target>[\w[][\w.[\],'" \t]*?=[ \t]*)?(?<mark>!!?(?!=)|%%?(?=[A-Za-z]))(?<rest>(?:[^\\\n]|\\[^])*)/y;

/** Rewrites the lines that are no Python; all others stay as and where they are. */
export function withoutNotebookLines(code: string): string {
  const cell = CELL_MAGIC.exec(code)?.groups;
  if (cell === undefined) return rewriteLines(code);
  const name = cell['name'] ?? '';
  const first = code.indexOf('%%');
  const end = code.indexOf('\n', first);
  const body = end === -1 ? '' : code.slice(end);
  if (AROUND_PYTHON.has(name)) return code.slice(0, first) + rewriteLines(body);
  return SHELLS.has(name) ? DISABLED : unavailable(`%%${name}`, 'its cell was not run');
}

function rewriteLines(code: string): string {
  const kept: string[] = [];
  let depth = 0;
  let copied = 0;
  let at = copyLine(code, 0, kept);
  copied = at;
  TOKEN.lastIndex = at;
  for (let token = TOKEN.exec(code); token !== null; token = TOKEN.exec(code)) {
    const [text] = token;
    if ('([{'.includes(text)) depth += 1;
    else if (')]}'.includes(text)) depth = Math.max(0, depth - 1);
    else if (text === '\n' && depth === 0) {
      kept.push(code.slice(copied, TOKEN.lastIndex));
      at = TOKEN.lastIndex;
      copied = copyLine(code, at, kept);
      TOKEN.lastIndex = copied;
    }
  }
  return kept.join('') + code.slice(copied);
}

/** Rewrites the statement that begins here, if it is none; where the rest of the text goes on. */
function copyLine(code: string, at: number, kept: string[]): number {
  LINE.lastIndex = at;
  const found = LINE.exec(code);
  if (found?.groups === undefined) return at;
  const { indent = '', target = '', mark = '', rest = '' } = found.groups;
  const lines = found[0].split('\n').length - 1;
  kept.push(indent, target, meaningOf(mark, rest, target !== ''), '\n'.repeat(lines));
  return at + found[0].length;
}

function meaningOf(mark: string, rest: string, isAssigned: boolean): string {
  if (mark.startsWith('!')) return isAssigned ? `(${DISABLED} or [])` : DISABLED;
  const [name = ''] = /^\w+/.exec(rest) ?? [];
  const argument = rest.slice(name.length).trim();
  if (INSTALLERS.has(name) || SHELLS.has(name)) return isAssigned ? `(${DISABLED} or [])` : DISABLED;
  if (name === 'time' && argument !== '') return argument;
  if (SILENT.has(name) || name === 'time') return isAssigned ? 'None' : 'pass';
  return unavailable(`${mark}${name}`, 'write it in plain Python');
}

function unavailable(magic: string, advice: string): string {
  return `print('The magic ${magic} is not available here; ${advice}.')`;
}

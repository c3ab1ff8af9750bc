/** What makes plain Python stand in for IPython: start code for sessions, and notebook lines rewritten as Python. */

/** Runs first in each session. It disables input and the shell; `{}` is replaced by code of the user. */
export const START_CODE = `
def input(*args, **kwargs):
    raise NotImplementedError('Python input() function is disabled.')

get_ipython().system = lambda *args: print('Assume we have this package, ! is disabled!')
{}
`;

/** The part of an IPython shell that start code and generated code use. */
const SHELL = `
class _Shell:
    def getoutput(self, *args):
        self.system(*args)
        return []

    def run_line_magic(self, name, *args):
        print(f'The magic %{name} is not available here; write it in plain Python.')

    run_cell_magic = run_line_magic

def get_ipython(shell=_Shell()):
    return shell

del _Shell
`;

export function startCodeWith(code: string): string {
  return SHELL + START_CODE.replace('{}', () => code);
}

const DISABLED = "print('Assume we have this package, ! is disabled!')";
const SHELLS = new Set(['!', 'bash', 'sh', 'script', 'system', 'sx', 'sc', 'cmd', 'perl', 'ruby']);
const INSTALLERS = new Set(['pip', 'conda', 'mamba', 'micromamba', 'uv']);
const SILENT = new Set(['matplotlib', 'pylab', 'config', 'load_ext', 'reload_ext', 'unload_ext', 'autoreload']);
/** Cell magics around plain Python, which then runs without the magic. */
const AROUND_PYTHON = new Set(['time', 'timeit', 'capture', 'prun', 'python', 'python3']);

/** The tokens that decide where a statement begins: strings, comments, brackets, joined lines and line ends. */
const TOKEN =
  /#[^\n]*|"""(?:\\[^]|(?!""")[^])*(?:"""|$)|'''(?:\\[^]|(?!''')[^])*(?:'''|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?|[([{]|[)\]}]|\\\n|\n/g;
const CELL_MAGIC = /^\s*%%(?<name>!|\w+)(?<rest>[^\n]*)(?:\n|$)/;
/** A notebook line at the start of a statement, where `a != b` cannot be. */
const LINE =
  /(?<indent>[ \t]*)(?![ \t])(?<target>[\w[][\w.[\],'" \t]*?=[ \t]*)?(?<mark>!!?(?!=)|%%?(?=[A-Za-z]))(?<rest>(?:[^\\\n]|\\[^])*)/y;

/** Rewrites shell commands and magics as harmless Python. All other lines stay unchanged, with the same line numbers. */
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

/** Rewrites the line at `at` if it is a notebook line. Returns where the rest of the code begins. */
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

/** Makes a plain Jupyter kernel show what the session showed. */
import { pythonString } from '../text/code/python-code.ts';
import type { HistoryEntry } from './history.ts';
import { codeCell, type CodeCell } from './nbformat.ts';

type EchoMode = HistoryEntry['echo'];

/** One difference between a session and a plain kernel, and Python code that removes it. */
interface Adaptation {
  /** Whether the difference matters for these runs. */
  readonly isNeeded: (entries: readonly HistoryEntry[]) => boolean;
  readonly python: string;
}

/** A clean exit is an error in a kernel, but not in a session. */
const EXIT = /\b(?:exit|quit|SystemExit)\b/;

const ADAPTATIONS: readonly Adaptation[] = [
  {
    isNeeded: mentioning(/\b(?:matplotlib|pylab|seaborn|plot)\b/),
    python: `# Figures show whatever backend the code asks for, the same one once in a cell, and empty ones not at all.
try:
    import matplotlib.pyplot, matplotlib_inline.backend_inline
    matplotlib.pyplot.switch_backend(matplotlib.get_backend())
    matplotlib.use = matplotlib.pyplot.switch_backend = lambda *_, **__: None
    _png, _shown = get_ipython().display_formatter.formatters["image/png"], set()
    def _draw(figure, _draw=_png.lookup_by_type(matplotlib.figure.Figure)):
        picture = _draw(figure)
        _shown.add(picture)
        return picture
    def _show(figure, _draw=_png.lookup_by_type(matplotlib.figure.Figure), _display=display, **options):
        if _draw(figure) not in {None, *_shown}:
            _display(figure, **options)
    _png.for_type(matplotlib.figure.Figure, _draw)
    matplotlib_inline.backend_inline.display = _show
    get_ipython().events.register("pre_run_cell", lambda _: _shown.clear())
except (ImportError, KeyError):
    pass`,
  },
  {
    isNeeded: mentioning(/\basyncio\b/),
    python: `# \`asyncio.run\` works, although the kernel has a running loop of its own.
import asyncio, concurrent.futures, contextvars
def _run(main, *, _run=asyncio.run, **options):
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(contextvars.copy_context().run, _run, main, **options).result()
asyncio.run = _run`,
  },
  {
    isNeeded: mentioning(EXIT),
    python: `# \`exit()\` ends the cell, not the kernel.
import warnings
warnings.filterwarnings("ignore", "To exit: use")
def exit(code=None):
    raise SystemExit(code)
quit = exit`,
  },
  {
    isNeeded: (entries) => entries.some((entry) => echoOf(entry, 'last') !== 'last'),
    python: `# What expressions at the top level of a cell show: "all" prints each, "last" shows the last one, "none" nothing.
import ast
class _PrintEach:
    def visit(self, module):
        for line in module.body:
            if isinstance(line, ast.Expr):
                line.value = ast.Call(ast.Name("_print", ast.Load()), [line.value], [])
        return ast.fix_missing_locations(module)
def _print(value):
    if value is not None:
        print(value)
def _echo(mode):
    shell = get_ipython()
    shell.ast_node_interactivity = "last_expr" if mode == "last" else "none"
    others = [one for one in shell.ast_transformers if type(one).__name__ != "_PrintEach"]
    shell.ast_transformers = others + [_PrintEach()] * (mode == "all")`,
  },
];

/** The first cell: all adaptations that these runs need. */
export function setupCell(entries: readonly HistoryEntry[]): CodeCell {
  const needed = ADAPTATIONS.filter(({ isNeeded }) => isNeeded(entries)).map(({ python }) => python);
  return hiddenCell('setup', ['# Makes this kernel show what the session showed.', ...needed].join('\n\n'));
}

/** Changes which expressions the following cells show. Works only after `setupCell`. */
export function echoCell(id: string, echo: EchoMode): CodeCell {
  return hiddenCell(id, `_echo(${pythonString(echo)})`);
}

/** Which expressions a run shows. Assignments have none, and keep the mode of the cell before. */
export function echoOf({ kind, echo }: HistoryEntry, before: EchoMode): EchoMode {
  return kind === 'variables' ? before : echo;
}

/** Whether the code may raise in a kernel although it did not in the session. */
export function mayExit({ code }: HistoryEntry): boolean {
  return EXIT.test(code);
}

function mentioning(pattern: RegExp): Adaptation['isNeeded'] {
  return (entries) => entries.some(({ code }) => pattern.test(code));
}

function hiddenCell(id: string, code: string): CodeCell {
  return codeCell(id, code, { metadata: { tags: ['vivarium-setup'], jupyter: { source_hidden: true } } });
}

/** Everything that a session does otherwise than a kernel of IPython, and why. docs/notebook-habits.md tells the same. */

/** `where` names program, cell and what differs, as in compare.ts. */
interface ListedDifference {
  readonly because: string;
  readonly where: readonly string[];
}

export const LISTED: readonly ListedDifference[] = [
  {
    because:
      'commands write to pipes, not to a terminal: no \\r, no colours, one name per line, and errors go to stderr',
    where: [
      'files-and-directories 5 stdout', // and there is no __pycache__ in a workspace
      'files-and-directories 6 stdout',
      'get-ipython 3 stdout',
      'line-continuation 4 stdout',
      'shell-lines 1 stdout',
      'shell-lines 3 stdout',
      'shell-lines 4 stdout',
      'shell-lines 4 stderr',
    ],
  },
  {
    because: 'sys.exit() ends the cell: it is no error without a code, and nobody is told to press Ctrl-D',
    where: [
      'exit-and-input 1 error',
      'exit-and-input 1 stderr',
      'exit-and-input 5 error',
      'main-and-arguments 3 stderr',
      'main-and-arguments 4 error',
    ],
  },
  {
    because: 'exit() ends the cell, not the kernel: the variables stay',
    where: ['exit-and-input end sys'],
  },
  {
    because: 'the error of input() says what to do instead',
    where: ['exit-and-input 4 error'],
  },
  {
    because: 'IPython prints a group of exceptions and reports that the cell succeeded',
    where: ['chained-and-groups 3 error', 'chained-and-groups 3 stderr'],
  },
  {
    because: 'a cell is compiled as a whole: its first lines do not run if a later one is wrong',
    where: ['syntax-errors end await_'],
  },
  {
    because: 'an open bracket is named, as by Python itself',
    where: ['syntax-errors 8 error'],
  },
  {
    because: 'an unknown magic is an error, which lists the known ones; IPython reports success',
    where: ['html-and-other-cells 8 error', 'html-and-other-cells 8 stderr'],
  },
  {
    because: 'the streams are those of Python: with `buffer`, and with their usual names',
    where: [
      'printing 6 error',
      'printing 6 shown',
      'printing 6 stdout',
      'printing 8 stdout',
      'warnings-and-logging end handler',
    ],
  },
  {
    because: 'an integer with more digits than Python prints is described instead of being an error',
    where: ['big-numbers 5 error', 'big-numbers 5 shown'],
  },
  {
    because: 'asyncio.run() works in a cell that does not await',
    where: ['asyncio-run 1 error', 'asyncio-run 1 shown'],
  },
  {
    because: 'a figure that is the value of its cell is shown once',
    where: ['figure-as-last-value 1 shown', 'figure-as-last-value 4 shown'],
  },
  {
    because: 'a figure that a later cell changes is shown again',
    where: ['figure-as-last-value 3 shown'],
  },
  {
    because: 'there are fonts for these scripts, and names such as SimHei lead to them',
    where: ['many-scripts 1 stderr', 'many-scripts 2 stderr'],
  },
  {
    because: 'a plotly figure has a text for models, and as a value it is the result of its cell',
    where: [
      'plotly-express 1 forms',
      'plotly-express 1 text',
      'plotly-express 2 forms',
      'plotly-express 2 shown',
      'plotly-express 2 text',
    ],
  },
  {
    because:
      'an Altair chart comes as its specification and as a picture, not as a page that loads scripts from the web',
    where: ['altair-chart 1 forms', 'altair-chart 1 text', 'altair-chart 3 forms', 'altair-chart 3 text'],
  },
  {
    because: 'an image of Pillow is shown as PNG alone, which has all of it',
    where: ['image-filters 1 forms', 'image-filters 3 forms', 'word-cloud 2 forms'],
  },
  {
    because:
      'libraries see no front end: sympy keeps to text that is code, beside LaTeX, whatever init_printing() says',
    where: [
      'sympy-init-printing 1 forms',
      'sympy-init-printing 1 text',
      'sympy-init-printing 2 forms',
      'sympy-init-printing 2 text',
      'sympy-init-printing 3 forms',
      'sympy-init-printing 3 text',
      'sympy-latex 6 forms',
      'sympy-latex 6 text',
    ],
  },
  {
    because: 'libraries see no front end: rich prints text without colours instead of HTML',
    where: [
      'tabulate-and-rich 2 stdout',
      'tabulate-and-rich 3 shown',
      'tabulate-and-rich 3 stdout',
      'tabulate-and-rich 4 shown',
      'tabulate-and-rich 4 stdout',
      'tabulate-and-rich end console',
    ],
  },
  {
    because:
      'libraries see no front end: tqdm draws bars as text, also those of tqdm.notebook, which else need widgets',
    where: [
      'progress-bars 2 stderr',
      'progress-bars 3 error',
      'progress-bars 3 stderr',
      'progress-bars 4 stderr', // there, the bar that failed has left a line
      'progress-bars end notebook_tqdm',
    ],
  },
  {
    because: 'objects of ours stand in for those of IPython',
    where: ['capture-and-environment end out', 'get-ipython end ip'],
  },
];

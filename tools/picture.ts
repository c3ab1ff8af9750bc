/** `npm run picture`: types into a real `vivarium repl` and draws what the terminal shows, for README.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');
const TARGET = path.join(ROOT, 'docs', 'pictures');
const COLUMNS = 92;
const PROMPT = '>>> ';
/** Ends the program at the end of a terminal's input. */
const CTRL_D = '\u0004';

const SESSION = [
  'import pandas as pd',
  'prices = pd.Series([19.9, 5.5, 12.0], name="price")',
  'print(prices.mean())',
  'import ctypes; ctypes.string_at(0)          # a segmentation fault',
  'print(prices.sum())                         # the variables are still here',
  'prices = None                               # a mistake',
  '%rollback',
  'print(prices.max())',
];

const PTY = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

interface Theme {
  readonly name: string;
  readonly background: string;
  readonly frame: string;
  readonly text: string;
  readonly faint: string;
  readonly notice: string;
}

const THEMES: readonly Theme[] = [
  { name: 'light', background: '#ffffff', frame: '#d0d7de', text: '#1f2328', faint: '#6e7781', notice: '#9a6700' },
  { name: 'dark', background: '#0d1117', frame: '#30363d', text: '#e6edf3', faint: '#8b949e', notice: '#d29922' },
];

/** Text of one colour. */
interface Span {
  readonly kind: 'text' | 'faint' | 'notice';
  readonly text: string;
}

const lines = await record();
await mkdir(TARGET, { recursive: true });
for (const theme of THEMES) await writeFile(path.join(TARGET, `repl-${theme.name}.svg`), draw(lines, theme));
console.log(`${lines.length} lines in ${path.relative(ROOT, TARGET)}`);

/** What the terminal shows, line by line. */
async function record(): Promise<Span[][]> {
  const program = [process.execPath, path.join(ROOT, 'src', 'cli', 'main.ts'), 'repl'];
  const child = spawn('python3', ['-c', PTY, ...program], {
    env: { ...process.env, TERM: 'xterm-256color', FORCE_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const keys = [...SESSION.map((line) => `${line}\n`), CTRL_D];
  let shown = '';
  let answered = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    const prompts = shown.split(PROMPT).length - 1;
    if (prompts > answered) child.stdin.write(keys[answered++] ?? '');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`vivarium repl ended with ${code}:\n${shown}`);
  return toLines(shown);
}

/** Readline moves the cursor only to where it already is, so these orders can be dropped. */
function toLines(shown: string): Span[][] {
  // oxlint-disable-next-line no-control-regex
  const plain = shown.replaceAll(/\u001B\[(?:\d*[GJ]|0m)/gu, '').replaceAll('\r', '');
  const all = plain
    .trimEnd()
    .split('\n')
    .filter((line) => line !== PROMPT.trimEnd()); // the last prompt
  const end = all.findLastIndex((line) => line !== '');
  return all.slice(0, end + 1).flatMap((line) => wrap(spansOf(line)));
}

function spansOf(line: string): Span[] {
  // oxlint-disable-next-line no-control-regex
  const notice = /^\u001B\[33m(?<text>.*)\u001B\[39m$/u.exec(line)?.groups?.['text'];
  if (notice !== undefined) return [{ kind: 'notice', text: notice }];
  if (!line.startsWith(PROMPT)) return [{ kind: 'text', text: line }];
  const [code = '', comment] = line.slice(PROMPT.length).split(/(?=#)/u);
  return [
    { kind: 'faint', text: PROMPT },
    { kind: 'text', text: code },
    ...(comment === undefined ? [] : [{ kind: 'faint' as const, text: comment }]),
  ];
}

/** Only output is ever longer than the terminal is wide. */
function wrap(spans: Span[]): Span[][] {
  const [first] = spans;
  if (first === undefined || spans.length > 1 || first.text.length <= COLUMNS) return [spans];
  const words = first.text.split(' ');
  const rows: string[] = [];
  for (const word of words) {
    const row = rows.at(-1);
    if (row === undefined || row.length + 1 + word.length > COLUMNS) rows.push(word);
    else rows[rows.length - 1] = `${row} ${word}`;
  }
  return rows.map((text) => [{ kind: first.kind, text }]);
}

function draw(rows: readonly (readonly Span[])[], theme: Theme): string {
  const [size, lineHeight, margin, bar] = [14, 20, 20, 36];
  const width = Math.ceil(COLUMNS * size * 0.6) + 2 * margin;
  const height = bar + rows.length * lineHeight + margin;
  const dots = [0, 1, 2].map((n) => `<circle cx="${margin + 6 + n * 18}" cy="18" r="5" fill="${theme.frame}"/>`);
  const texts = rows.map((spans, index) => {
    const parts = spans.map(({ kind, text }) => `<tspan fill="${theme[kind]}">${escapeXml(text)}</tspan>`);
    return `<text x="${margin}" y="${bar + 14 + index * lineHeight}">${parts.join('')}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    '<title>vivarium repl: a segmentation fault costs no variables, and a mistake is undone</title>',
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${theme.background}" stroke="${theme.frame}"/>`,
    ...dots,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="${size}" xml:space="preserve" style="white-space: pre">`,
    ...texts,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

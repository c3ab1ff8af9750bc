import { describeOutcome } from '../execution/description.ts';
import { hasEndedByItself } from '../execution/outcome.ts';
import type { EntryOutcome, HistoryEntry, RunHistory } from './history.ts';
import { echoCell, echoOf, mayExit, setupCell } from './kernel-setup.ts';
import {
  codeCell,
  createNotebook,
  markdownCell,
  rawCell,
  type Cell,
  type CellMetadata,
  type CodeCell,
  type MarkdownCell,
  type MimeBundle,
  type Notebook,
  type NotebookFacts,
} from './nbformat.ts';
import { toMimeBundle, toOutputs } from './outputs.ts';
import { cleanText } from '../text/visible.ts';
import { fenced, inlineText } from './text.ts';

export interface ExportOptions extends NotebookFacts {
  /** Also includes, as text, runs that were undone or that belong to an earlier interpreter. */
  readonly includePast?: boolean;
}

/** A notebook that recreates the present state of a session and its outputs. */
export function toNotebook(history: RunHistory, options: ExportOptions): Notebook {
  const entries = history.entries.filter(({ standing }) => standing === 'present' || options.includePast === true);
  const executable = entries.filter(isExecutable);
  const cells: Cell[] = [
    ...(options.title === undefined ? [] : [markdownCell('title', `# ${inlineText(options.title)}`)]),
    ...noteCells(history),
    ...packageCells(history),
    ...(executable.length > 0 ? [setupCell(executable)] : []),
  ];
  let echo: HistoryEntry['echo'] = 'last';
  for (const entry of entries) {
    if (isExecutable(entry) && echoOf(entry, echo) !== echo) {
      echo = echoOf(entry, echo);
      cells.push(echoCell(`echo-${entry.executionCount}`, echo));
    }
    cells.push(entryCell(entry));
  }
  return createNotebook(cells, options, history.packages);
}

/** Tells the reader what the session got besides its environment, so that another one can get the same. */
function packageCells({ packages }: RunHistory): Cell[] {
  if (packages.length === 0) return [];
  const pins = packages.map(({ name, version, sha256 }) => `${name}==${version} --hash=sha256:${sha256}`);
  return [markdownCell('packages', `Installed for this session:\n\n${fenced(pins.join('\n'))}`)];
}

/** Tells the reader what is missing from the notebook. */
function noteCells({ entries, omittedRuns, restartReason }: RunHistory): Cell[] {
  const notes: string[] = [];
  if (restartReason !== undefined) {
    notes.push(
      `Earlier runs are missing: the present state began with a fresh interpreter: ${inlineText(restartReason)}.`,
    );
  }
  if (omittedRuns > 0) {
    notes.push(`The ${count(omittedRuns, 'oldest run')} did not fit. Later cells may need what is missing.`);
  }
  const emptied = entries.filter(({ standing, omittedBytes }) => standing === 'present' && omittedBytes > 0);
  if (emptied.length > 0) {
    const bytes = emptied.reduce((sum, { omittedBytes }) => sum + omittedBytes, 0);
    const numbers = emptied.map(({ executionCount }) => executionCount).join(', ');
    notes.push(`Outputs of ${bytes} bytes did not fit (runs ${numbers}). Run the notebook to recreate them.`);
  }
  return notes.length === 0 ? [] : [markdownCell('notes', notes.map((note) => `* ${note}`).join('\n'))];
}

function count(number: number, noun: string): string {
  return number === 1 ? noun : `${number} ${noun}s`;
}

/** A run that did not end by itself could crash the kernel or never end, so it is not repeated. */
function isExecutable({ standing, ending, code }: HistoryEntry): boolean {
  return standing === 'present' && ending !== undefined && hasEndedByItself(ending.outcome) && code.isWellFormed();
}

function entryCell(entry: HistoryEntry): Cell {
  const id = `run-${entry.executionCount}`;
  switch (entry.standing) {
    case 'undone':
      return rawCell(id, `# Run ${entry.executionCount}, which was rolled back:\n${entry.code}`);
    case 'past':
      return rawCell(id, `# Run ${entry.executionCount}, whose state is gone:\n${entry.code}`);
    case 'present':
      return isExecutable(entry) ? executableCell(id, entry) : stoppedCell(id, entry);
  }
}

function executableCell(id: string, entry: HistoryEntry): CodeCell {
  const { code, executionCount, outputs, ending, startedAt } = entry;
  const endedAt = new Date(startedAt.getTime() + (ending?.durationMs ?? 0));
  const mayRaise = ending?.outcome.status === 'raised' || mayExit(entry);
  const metadata: CellMetadata = {
    ...(mayRaise && { tags: ['raises-exception'] }),
    execution: { 'iopub.execute_input': startedAt.toISOString(), 'shell.execute_reply': endedAt.toISOString() },
    ...reachedFacts(ending),
  };
  return codeCell(id, dedentable(code), {
    executionCount,
    outputs: toOutputs(outputs, ending?.error, executionCount),
    metadata,
  });
}

/** Jupyter dedents a block only if nothing is to the left of it, not even a comment. */
function dedentable(code: string): string {
  const lines = code.split('\n');
  const first = lines.findIndex((line) => /^\s*[^\s#]/.test(line));
  const [indent = ''] = /^[ \t]*/.exec(lines[first] ?? '') ?? [];
  if (indent === '') return code;
  return lines.map((line, index) => (index < first ? line.replace(/^[ \t]*#/, `${indent}#`) : line)).join('\n');
}

/** A run that must not be repeated, as text: its code, how it ended, and its output. */
function stoppedCell(id: string, entry: HistoryEntry): MarkdownCell {
  const { executionCount, code, outputs, ending } = entry;
  const attachments: Record<string, MimeBundle> = {};
  const shown = outputs.map((item) => {
    if (item.type === 'text') return fenced(cleanText(item.text));
    const png = item.result.data['image/png'];
    if (png === undefined) return fenced(cleanText(item.result.data['text/plain'] ?? ''));
    const name = `figure-${Object.keys(attachments).length + 1}.png`;
    attachments[name] = toMimeBundle({ 'image/png': png });
    return `![${name}](attachment:${name})`;
  });
  const parts = [
    `**Run ${executionCount} is not repeated here: ${inlineText(reasonOf(ending))}.** ${consequenceOf(ending)}`,
    fenced(code, 'python'),
    ...shown,
    ...(ending?.error ? [fenced(cleanText(ending.error.traceback))] : []),
  ];
  return { ...markdownCell(id, parts.join('\n\n'), attachments), metadata: reachedFacts(ending) };
}

function reachedFacts(ending: EntryOutcome | undefined): CellMetadata {
  return ending?.reached === undefined ? {} : { vivarium: { network: ending.reached } };
}

function reasonOf(ending: EntryOutcome | undefined): string {
  if (ending === undefined) return 'how it ended is not known';
  return hasEndedByItself(ending.outcome)
    ? 'its code has lone surrogates, which no file can hold; they are shown as escapes'
    : describeOutcome(ending.outcome, 'it');
}

function consequenceOf(ending: EntryOutcome | undefined): string {
  if (ending === undefined || (ending.effects === 'kept' && ending.mayHaveChanged))
    return 'What it had changed by then stayed in the session, and later cells may need it.';
  return ending.effects === 'undone' ? 'The variables were restored to what they were before it.' : '';
}

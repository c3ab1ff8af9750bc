import { hasEndedByItself } from '../execution/outcome.ts';
import type { Entry, History } from './history.ts';
import { echoCell, echoOf, mayExit, setupCell } from './kernel-setup.ts';
import {
  codeCell,
  createNotebook,
  markdownCell,
  rawCell,
  type Cell,
  type CellMetadata,
  type CodeCell,
  type Notebook,
  type NotebookOptions,
} from './nbformat.ts';
import { toOutputs } from './outputs.ts';
import { stoppedCell } from './stopped-cell.ts';
import { inlineText } from './text.ts';

export interface ExportOptions extends NotebookOptions {
  /** Also what is not part of the present state, as text: runs that were undone, or ran before a fresh interpreter. */
  readonly includePast?: boolean;
}

/** What a session has run, as a notebook that makes the session's present state, and its outputs, anew. */
export function toNotebook(history: History, options: ExportOptions): Notebook {
  const entries = history.entries.filter(({ place }) => place === 'present' || options.includePast === true);
  const executable = entries.filter(isExecutable);
  const cells: Cell[] = [
    ...(options.title === undefined ? [] : [markdownCell('title', `# ${inlineText(options.title)}`)]),
    ...noteCells(history),
    ...(executable.length > 0 ? [setupCell(executable)] : []),
  ];
  let echo: Entry['echo'] = 'last';
  for (const entry of entries) {
    if (isExecutable(entry) && echoOf(entry, echo) !== echo) {
      echo = echoOf(entry, echo);
      cells.push(echoCell(`echo-${entry.executionCount}`, echo));
    }
    cells.push(entryCell(entry));
  }
  return createNotebook(cells, options);
}

/** What the notebook does not have. */
function noteCells({ entries, omittedRuns, restartReason }: History): Cell[] {
  const notes: string[] = [];
  if (restartReason !== undefined) {
    notes.push(
      `What ran before is not part of the present state, which began with a fresh interpreter: ${inlineText(restartReason)}.`,
    );
  }
  if (omittedRuns > 0) {
    notes.push(`The ${count(omittedRuns, 'oldest run')} did not fit. What is here may not run without what was there.`);
  }
  const emptied = entries.filter(({ place, omittedBytes }) => place === 'present' && omittedBytes > 0);
  if (emptied.length > 0) {
    const bytes = emptied.reduce((sum, { omittedBytes }) => sum + omittedBytes, 0);
    const numbers = emptied.map(({ executionCount }) => executionCount).join(', ');
    notes.push(`Outputs of ${bytes} bytes did not fit, those of: ${numbers}. Running the notebook makes them again.`);
  }
  return notes.length === 0 ? [] : [markdownCell('notes', notes.map((note) => `* ${note}`).join('\n'))];
}

function count(number: number, noun: string): string {
  return number === 1 ? noun : `${number} ${noun}s`;
}

/** Running again what never came to its own end would end the kernel, or never end. */
function isExecutable({ place, ending, code }: Entry): boolean {
  return place === 'present' && ending !== undefined && hasEndedByItself(ending.outcome) && code.isWellFormed();
}

function entryCell(entry: Entry): Cell {
  const id = `run-${entry.executionCount}`;
  switch (entry.place) {
    case 'undone':
      return rawCell(id, `# Run ${entry.executionCount}, which was rolled back:\n${entry.code}`);
    case 'past':
      return rawCell(id, `# Run ${entry.executionCount}, whose state is gone:\n${entry.code}`);
    case 'present':
      return isExecutable(entry) ? executableCell(id, entry) : stoppedCell(id, entry);
  }
}

function executableCell(id: string, entry: Entry): CodeCell {
  const { code, executionCount, outputs, ending, startedAt } = entry;
  const endedAt = new Date(startedAt.getTime() + (ending?.durationMs ?? 0));
  const mayRaise = ending?.outcome.status === 'raised' || mayExit(entry);
  const metadata: CellMetadata = {
    ...(mayRaise && { tags: ['raises-exception'] }),
    execution: { 'iopub.execute_input': startedAt.toISOString(), 'shell.execute_reply': endedAt.toISOString() },
  };
  return codeCell(id, dedentable(code), {
    executionCount,
    outputs: toOutputs(outputs, ending?.error, executionCount),
    metadata,
  });
}

/** Jupyter dedents a block only if nothing stands left of it, comments included. */
function dedentable(code: string): string {
  const lines = code.split('\n');
  const first = lines.findIndex((line) => /^\s*[^\s#]/.test(line));
  const [indent = ''] = /^[ \t]*/.exec(lines[first] ?? '') ?? [];
  if (indent === '') return code;
  return lines.map((line, index) => (index < first ? line.replace(/^[ \t]*#/, `${indent}#`) : line)).join('\n');
}

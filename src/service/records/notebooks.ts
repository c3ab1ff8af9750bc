import type { Execution, Json } from '../../execution/execution.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import { contextCell, figuresCell, resultsCell } from '../../notebook/context-cell.ts';
import { toNotebook } from '../../notebook/export.ts';
import { RunHistory } from '../../notebook/history.ts';
import { codeCell, createNotebook, markdownCell, type Cell, type MarkdownCell } from '../../notebook/nbformat.ts';
import { fenced } from '../../notebook/text.ts';
import type { Attempt } from '../result.ts';
import { FILES } from './names.ts';

export interface NotebookParts {
  readonly header: MarkdownCell;
  /** Undefined when nothing was generated. */
  readonly attempt: Attempt | undefined;
  /** What the run printed and showed in its order, where that is known. */
  readonly outputs?: readonly TranscriptItem[] | undefined;
  readonly startedAt: Date;
  /** The text of `python/_vivarium/payloads/context.py`. */
  readonly contextLoader: string;
  readonly pythonVersion: string;
}

export interface FinalParts extends NotebookParts {
  /** Undefined when there are none. */
  readonly results?: Readonly<Record<string, Json>> | undefined;
  /** Seen from the notebook. */
  readonly figures: readonly string[];
}

const MAX_PREVIEW_CHARS = 10_000;
/** Outputs of one run are bounded where they are made; this bound only must not be the smaller one. */
const NO_BOUNDS = { maxRuns: 1, maxBytes: 1 << 30 };

/** An attempt as a notebook in `attempts/`, as a text that Jupyter reads. */
export function attemptNotebook(parts: NotebookParts): string {
  return textOf([parts.header, contextOf(parts, `../${FILES.context}`), ...codeCells(parts)], parts);
}

/** The notebook of the whole request. */
export function finalNotebook(parts: FinalParts): string {
  const cells: Cell[] = [parts.header, contextOf(parts, FILES.context), ...codeCells(parts)];
  if (parts.results !== undefined) cells.push(resultsText(parts.results), resultsCell('load-results', FILES.results));
  if (parts.figures.length > 0) cells.push(figuresCell('figures', parts.figures));
  return textOf(cells, parts);
}

function contextOf({ contextLoader }: NotebookParts, path: string): Cell {
  return contextCell('context', { loader: contextLoader, path });
}

/** The code with what its run gave; code that never ran, or must not run again, has no outputs. */
function codeCells({ attempt, outputs, startedAt, pythonVersion }: NotebookParts): readonly Cell[] {
  if (attempt === undefined) return [];
  const { code, execution, stage } = attempt;
  if (execution === undefined) {
    return [codeCell('code', code, { metadata: stage === 'syntax_error' ? { tags: ['raises-exception'] } : {} })];
  }
  const history = new RunHistory(NO_BOUNDS);
  const end = history.begin({ code, echo: 'last', kind: 'run', startedAt });
  // Each attempt is alone in its notebook: what became of the session's state is of no use to whoever reads it.
  const state = { ...execution.state, status: 'preserved' } as const;
  end(outputs ?? itemsOf(execution), { ...execution, state, mayHaveWritten: false });
  return toNotebook(history, { pythonVersion }).cells;
}

/** Without their order: text first. */
function itemsOf({ logs, results }: Execution): TranscriptItem[] {
  const texts = (['stdout', 'stderr'] as const).map(
    (stream) => ({ type: 'text', stream, text: logs[stream] }) as const,
  );
  return [
    ...texts.filter(({ text }) => text !== ''),
    ...results.map((result) => ({ type: 'result', result }) as const),
  ];
}

function resultsText(results: Readonly<Record<string, Json>>): MarkdownCell {
  const text = JSON.stringify(results, undefined, 2);
  const shown = text.length > MAX_PREVIEW_CHARS ? `${text.slice(0, MAX_PREVIEW_CHARS)}\n…` : text;
  return markdownCell('results', `## Results\n\n${fenced(shown, 'json')}`);
}

function textOf(cells: readonly Cell[], { pythonVersion }: NotebookParts): string {
  return `${JSON.stringify(createNotebook(cells, { pythonVersion }), undefined, 1)}\n`;
}

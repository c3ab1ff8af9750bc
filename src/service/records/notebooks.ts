import type { Execution, Json } from '../../execution/execution.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import { contextCell, figuresCell, resultsCell } from '../../notebook/context-cell.ts';
import { toNotebook } from '../../notebook/export.ts';
import { RunHistory } from '../../notebook/history.ts';
import { codeCell, createNotebook, markdownCell, type Cell, type MarkdownCell } from '../../notebook/nbformat.ts';
import { fenced, inlineText } from '../../notebook/text.ts';
import type { Attempt, AttemptStage } from '../api/result.ts';
import { FILES } from './names.ts';
import { createHash } from 'node:crypto';
import { shorten } from '../../text/excerpt.ts';
import type { PythonExecutionRequest } from '../api/request.ts';
import type { FailureReport } from './metadata.ts';

export interface NotebookParts {
  readonly header: MarkdownCell;
  /** Undefined if no code was generated. */
  readonly attempt: Attempt | undefined;
  /** What the run printed and displayed, in order, if known. */
  readonly outputs?: readonly TranscriptItem[] | undefined;
  readonly startedAt: Date;
  /** The text of `python/_vivarium/payloads/context.py`. */
  readonly contextLoader: string;
  readonly pythonVersion: string;
}

export interface FinalParts extends NotebookParts {
  /** Undefined if there are none. */
  readonly results?: Readonly<Record<string, Json>> | undefined;
  /** Relative to the notebook. */
  readonly figures: readonly string[];
}

const MAX_PREVIEW_CHARS = 10_000;
/** The outputs of a run are already bounded, so these limits only have to be larger. */
const NO_BOUNDS = { maxRuns: 1, maxBytes: 1 << 30 };

/** The notebook of an attempt, for `attempts/`. */
export function attemptNotebook(parts: NotebookParts): string {
  return textOf([parts.header, contextOf(parts, `../${FILES.context}`), ...codeCells(parts)], parts);
}

/** The notebook of the request. */
export function finalNotebook(parts: FinalParts): string {
  const cells: Cell[] = [parts.header, contextOf(parts, FILES.context), ...codeCells(parts)];
  if (parts.results !== undefined) cells.push(resultsText(parts.results), resultsCell('load-results', FILES.results));
  if (parts.figures.length > 0) cells.push(figuresCell('figures', parts.figures));
  return textOf(cells, parts);
}

function contextOf({ contextLoader }: NotebookParts, path: string): Cell {
  return contextCell('context', { loader: contextLoader, path });
}

/** The code with the outputs of its run. Code that did not run has none. */
function codeCells({ attempt, outputs, startedAt, pythonVersion }: NotebookParts): readonly Cell[] {
  if (attempt === undefined) return [];
  const { code, execution, stage } = attempt;
  if (execution === undefined) {
    return [codeCell('code', code, { metadata: stage === 'syntax_error' ? { tags: ['raises-exception'] } : {} })];
  }
  const history = new RunHistory(NO_BOUNDS);
  const end = history.begin({ code, echo: 'last', kind: 'run', startedAt });
  // The notebook holds one attempt only, so what became of the session's state is irrelevant.
  const state = { ...execution.state, status: 'preserved' } as const;
  const omittedConnections = execution.truncated?.network ?? 0;
  end(outputs ?? itemsOf(execution), { ...execution, state, mayHaveWritten: false, omittedConnections });
  return toNotebook(history, { pythonVersion }).cells;
}

/** Used when the order is unknown: text comes first. */
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

/** What the analysis found, and why a reviewer is asked. */
export interface ReviewContext {
  readonly reasoning?: string;
  readonly issues?: readonly string[];
}

export interface HeaderFacts {
  readonly request: PythonExecutionRequest;
  readonly time: Date;
  readonly executionMode: string | null;
  readonly review?: ReviewContext | undefined;
}

const TITLES: Readonly<Record<AttemptStage, string>> = {
  syntax_error: 'Syntax error',
  static_analysis_failed: 'Static analysis failed',
  awaiting_approval: 'Awaiting approval',
  execution_failed: 'Execution failed',
  results_invalid: 'Results are not as expected',
  succeeded: 'Succeeded',
};

const NOT_RUN: ReadonlySet<AttemptStage> = new Set(['syntax_error', 'static_analysis_failed', 'awaiting_approval']);

const MAX_CHARS = 20_000;
const MAX_ISSUES = 50;

export function attemptHeader({ number, stage, code, error }: Attempt, facts: HeaderFacts): MarkdownCell {
  const hash = createHash('sha256').update(code).digest('hex');
  const warning = 'This code has not been run. Running its cell runs it in this kernel, outside the sandbox.';
  return header([
    `# Attempt ${number}: ${TITLES[stage]}`,
    list({ ...about(facts), Stage: stage, 'Code SHA-256': hash }),
    ...(NOT_RUN.has(stage) ? [`**${warning}**`] : []),
    ...section(stage === 'awaiting_approval' ? 'Note' : 'Error', error),
    ...review(facts.review),
  ]);
}

export function successHeader(attempt: Attempt, facts: HeaderFacts): MarkdownCell {
  return header([
    '# Successful Execution',
    list({ ...about(facts), Attempt: String(attempt.number), Stage: attempt.stage }),
    ...review(facts.review),
  ]);
}

/** A rejection is not a failure. */
const TITLES_WITHOUT_RUN: Readonly<Record<string, string>> = {
  ExecutionRejectedError: 'Rejected, and Not Executed',
  PolicyRefusedError: 'Refused, and Not Executed',
};

export function failureHeader(failure: FailureReport, attempts: number, facts: HeaderFacts): MarkdownCell {
  return header([
    `# ${TITLES_WITHOUT_RUN[failure.errorType] ?? 'Failed Execution'}`,
    list({ ...about(facts), Attempts: String(attempts), 'Error type': failure.errorType }),
    ...section(failure.errorType in TITLES_WITHOUT_RUN ? 'Why' : 'Error', failure.errorMessage),
    ...section('Traceback', failure.traceback ?? undefined),
    ...review(facts.review),
  ]);
}

function about({ request, time, executionMode }: HeaderFacts): Record<string, string> {
  return {
    Task: request.taskObjective,
    'User query': request.userQuery,
    Time: time.toISOString(),
    ...(executionMode !== null && { 'Execution mode': executionMode }),
  };
}

function header(parts: readonly string[]): MarkdownCell {
  return markdownCell('header', parts.join('\n\n'));
}

function list(facts: Readonly<Record<string, string>>): string {
  const shown = Object.entries(facts).filter(([, text]) => text.trim() !== '');
  return shown.map(([name, text]) => `- **${name}:** ${inlineText(shorten(text, MAX_CHARS))}`).join('\n');
}

function section(title: string, text: string | undefined): string[] {
  return text === undefined || text.trim() === '' ? [] : [`## ${title}\n\n${fenced(shorten(text, MAX_CHARS))}`];
}

function review(context: ReviewContext | undefined): string[] {
  const issues = (context?.issues ?? [])
    .slice(0, MAX_ISSUES)
    .map((issue) => `- ${inlineText(shorten(issue, MAX_CHARS))}`);
  return [
    ...section('Approval', context?.reasoning),
    ...(issues.length > 0 ? [`## Analysis\n\n${issues.join('\n')}`] : []),
  ];
}

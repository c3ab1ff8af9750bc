/** The first cells of the notebooks: what a person needs to know before they look at the code. */
import { createHash } from 'node:crypto';
import { markdownCell, type MarkdownCell } from '../../notebook/nbformat.ts';
import { fenced, inlineText } from '../../notebook/text.ts';
import { shorten } from '../../text/excerpt.ts';
import type { PythonExecutionRequest } from '../request.ts';
import type { Attempt, AttemptStage } from '../result.ts';
import type { FailureReport } from './metadata.ts';

/** What the analysis said, and why somebody is asked. */
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
  const warning = 'This code has not been run. Running its cell runs it here, without the walls of the sandbox.';
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

/** To say no is no failure. */
const ENDINGS: Readonly<Record<string, string>> = {
  ExecutionRejectedError: 'Rejected, and Not Executed',
  PolicyRefusedError: 'Refused, and Not Executed',
};

export function failureHeader(failure: FailureReport, attempts: number, facts: HeaderFacts): MarkdownCell {
  return header([
    `# ${ENDINGS[failure.errorType] ?? 'Failed Execution'}`,
    list({ ...about(facts), Attempts: String(attempts), 'Error type': failure.errorType }),
    ...section(failure.errorType in ENDINGS ? 'Why' : 'Error', failure.errorMessage),
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

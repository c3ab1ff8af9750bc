import { z } from 'zod';
import type { Execution } from '../../execution/execution.ts';

/** What a program tried to do beyond its own process, as the session reports it; see python/_vivarium/payloads/effects.py. */
const Attempts = z.object({
  attempts: z
    .array(z.object({ kind: z.string().max(100), what: z.string().max(400), count: z.int().positive() }))
    .max(500),
  omitted: z.int().nonnegative(),
});
export type Attempts = z.infer<typeof Attempts>;

/** What a preview showed. */
export interface Effects {
  readonly status: Execution['outcome']['status'];
  /** The output as a model would see it. */
  readonly text: string;
  readonly attempts: Attempts['attempts'];
  readonly files: readonly { readonly path: string; readonly sizeBytes: number }[];
  readonly variables: readonly string[];
  /** The preview succeeded and tried nothing that it was denied, so approving it keeps its results. */
  readonly isComplete: boolean;
}

const MAX_TEXT = 4000;
/** These stay inside the session, unless the run gets wider access than the preview: then their purpose is unknown. */
const INSIDE = new Set(['process', 'native code']);

export interface PreviewReport {
  /** What the program tried, as the session reports it. */
  readonly reported: unknown;
  /** What it printed and displayed. */
  readonly text: string;
  /** Environment variables of the session. The code may need them, but reviewers must not see them. */
  readonly secrets: Readonly<Record<string, string>>;
}

export interface PreviewLimits {
  /** The run would have access that the preview had not: the network, or writable files. */
  readonly isWiderThanPreview: boolean;
  /** The code writes to a control system, which a preview cannot show. */
  readonly writesToControlSystem: boolean;
}

export function effectsOf(
  execution: Execution,
  { reported, text, secrets, isWiderThanPreview, writesToControlSystem }: PreviewLimits & PreviewReport,
): Effects {
  const parsed = Attempts.safeParse(reported);
  const { attempts, omitted } = parsed.success ? parsed.data : { attempts: [], omitted: 1 };
  return {
    status: execution.outcome.status,
    text: hide(text, secrets).slice(0, MAX_TEXT),
    attempts: attempts.map((attempt) => ({ ...attempt, what: hide(attempt.what, secrets) })),
    files: execution.files.map(({ path, sizeBytes }) => ({ path, sizeBytes })),
    variables: execution.state.variables.added,
    isComplete:
      execution.outcome.status === 'succeeded' &&
      omitted === 0 &&
      !(isWiderThanPreview && writesToControlSystem) &&
      attempts.every(({ kind }) => !isWiderThanPreview && INSIDE.has(kind)),
  };
}

/** Shorter values occur in ordinary text: replacing them would only garble it. */
const SHORTEST_SECRET = 6;

function hide(text: string, secrets: Readonly<Record<string, string>>): string {
  return Object.entries(secrets)
    .filter(([, value]) => value.length >= SHORTEST_SECRET)
    .reduce((hidden, [name, value]) => hidden.replaceAll(value, `[${name}]`), text);
}

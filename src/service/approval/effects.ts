import { z } from 'zod';
import type { Execution } from '../../execution/execution.ts';
import type { LeftFile } from '../execution/job.ts';
import { inLine } from '../../text/in-line.ts';

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
  readonly files: readonly LeftFile[];
  /** How many files are not listed. */
  readonly moreFiles: number;
  readonly variables: readonly string[];
  /** The preview succeeded and tried nothing that it was denied, so approving it keeps its results. */
  readonly isComplete: boolean;
}

const MAX_TEXT = 4000;
const MAX_FILES = 200;
/** These stay inside the session, unless the run gets wider access than the preview: then their purpose is unknown. */
const INSIDE = new Set(['process', 'native code']);

export interface PreviewReport {
  /** What the program tried, as the session reports it. */
  readonly reported: unknown;
  /** What lies in its workspace, as the host sees it. */
  readonly leftFiles: readonly LeftFile[];
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
  { reported, leftFiles, text, secrets, isWiderThanPreview, writesToControlSystem }: PreviewLimits & PreviewReport,
): Effects {
  const parsed = Attempts.safeParse(reported);
  const { attempts, omitted } = parsed.success ? parsed.data : { attempts: [], omitted: 1 };
  const told = execution.files.map(({ path, sizeBytes }) => ({ path, sizeBytes }));
  const paths = new Set(told.map(({ path }) => path));
  const hidden = leftFiles.filter(({ path }) => !paths.has(path));
  const files = [...told, ...hidden];
  return {
    status: execution.outcome.status,
    text: hide(text, secrets).slice(0, MAX_TEXT),
    attempts: attempts.map((attempt) => ({ ...attempt, what: hide(attempt.what, secrets) })),
    files: files.slice(0, MAX_FILES),
    moreFiles: Math.max(0, files.length - MAX_FILES),
    variables: execution.state.variables.added,
    isComplete:
      execution.outcome.status === 'succeeded' &&
      omitted === 0 &&
      hidden.length === 0 && // a run with files that it hid is not all there is
      !(isWiderThanPreview && writesToControlSystem) &&
      attempts.every(({ kind }) => !isWiderThanPreview && INSIDE.has(kind)),
  };
}

/** What is shown of an effect's text. The rest of a longer one is of no use to a reader. */
const MAX_SHOWN = 300;
/** These the kernel or the host decides. That a run succeeded or raised, its session says. */
const SEEN_ENDINGS = new Set(['timed-out', 'crashed', 'cancelled']);

/** The parts of effects that lines are made of. */
export type ShownEffects = { readonly status: string } & Pick<Effects, 'attempts' | 'files' | 'moreFiles'>;

/** The effects as single lines of text: what the host saw from outside, and what the session says, which code can forge. */
export function describeEffects({ status, attempts, files, moreFiles }: ShownEffects): {
  readonly seen: string[];
  readonly told: string[];
} {
  const isSeen = SEEN_ENDINGS.has(status);
  const ending = status === 'succeeded' ? 'it ran to its end' : `it ended as ${status}`;
  const written = files.map(({ path, sizeBytes }) => `it wrote ${inLine(path, MAX_SHOWN)} (${sizeBytes} bytes)`);
  const tried = attempts.map(({ kind, what, count }) => {
    return `${inLine(kind, MAX_SHOWN)}: ${inLine(what, MAX_SHOWN)}${count > 1 ? ` (${count} times)` : ''}`;
  });
  return {
    seen: [
      ...(isSeen ? [ending] : []),
      ...(written.length === 0 ? ['it left no files'] : written),
      ...(moreFiles > 0 ? [`it wrote ${moreFiles} more files`] : []),
    ],
    told: [...(isSeen ? [] : [ending]), ...tried],
  };
}

/** Shorter values occur in ordinary text: replacing them would only garble it. */
const SHORTEST_SECRET = 6;

function hide(text: string, secrets: Readonly<Record<string, string>>): string {
  return Object.entries(secrets)
    .filter(([, value]) => value.length >= SHORTEST_SECRET)
    .reduce((hidden, [name, value]) => hidden.replaceAll(value, `[${name}]`), text);
}

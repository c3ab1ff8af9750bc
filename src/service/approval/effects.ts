import { z } from 'zod';
import type { Execution } from '../../execution/execution.ts';

/** What a program tried to do beyond its own process; see python/_vivarium/payloads/effects.py. */
const Attempts = z.object({
  attempts: z
    .array(z.object({ kind: z.string().max(100), what: z.string().max(400), count: z.int().positive() }))
    .max(500),
  omitted: z.int().nonnegative(),
});
export type Attempts = z.infer<typeof Attempts>;

/** What a preview showed: the code was run behind walls before anybody approved it. */
export interface Effects {
  readonly status: Execution['outcome']['status'];
  /** As a model would see it. */
  readonly text: string;
  readonly attempts: Attempts['attempts'];
  readonly files: readonly { readonly path: string; readonly sizeBytes: number }[];
  readonly variables: readonly string[];
  /** The run reached its end and tried nothing that the walls kept from it: to approve it is to keep its results. */
  readonly isComplete: boolean;
}

const MAX_TEXT = 4000;
/** What stays inside of the session, unless the run itself would be given more than the preview: then nobody sees what it is for. */
const INSIDE = new Set(['process', 'native code']);

export interface Seen {
  /** What the session says that the program tried. */
  readonly told: unknown;
  /** What it printed and showed. */
  readonly text: string;
  /** Variables of its environment: the code may need what reviewers and their screens need not show. */
  readonly secrets: Readonly<Record<string, string>>;
}

export interface Walls {
  /** The run would reach what the preview did not: the network, or files that it may write. */
  readonly areWider: boolean;
  /** The code writes to a control system: out there, whatever the preview could see of it. */
  readonly hasWrites: boolean;
}

export function effectsOf(execution: Execution, { told, text, secrets, areWider, hasWrites }: Walls & Seen): Effects {
  const parsed = Attempts.safeParse(told);
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
      !(areWider && hasWrites) &&
      attempts.every(({ kind }) => !areWider && INSIDE.has(kind)),
  };
}

/** Short values are words like any other: to hide them would only garble the text. */
const SHORTEST_SECRET = 6;

function hide(text: string, secrets: Readonly<Record<string, string>>): string {
  return Object.entries(secrets)
    .filter(([, value]) => value.length >= SHORTEST_SECRET)
    .reduce((hidden, [name, value]) => hidden.replaceAll(value, `[${name}]`), text);
}

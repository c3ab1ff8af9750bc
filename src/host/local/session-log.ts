import type { TranscriptItem } from '../../execution/transcript.ts';
import type { Logger } from '../../log.ts';
import type { Ending } from './endings.ts';
import type { EndedRun } from './run/runs.ts';

interface LoggedSession {
  readonly id: string;
  readonly clientId: string | null;
}

/** Tells a logger what happens to sessions. Code and output stay out of it unless they are asked for. */
export class SessionLog {
  readonly #log: Logger;
  readonly #withCode: boolean;

  constructor(log: Logger, withCode: boolean) {
    this.#log = log;
    this.#withCode = withCode;
  }

  opened(session: LoggedSession, durationMs: number): void {
    this.#log({ level: 'info', event: 'session-opened', ...namesOf(session), durationMs });
  }

  ended(session: LoggedSession, { what, isUnexpected }: Ending): void {
    const level = isUnexpected ? 'warn' : 'info';
    this.#log({ level, event: 'session-ended', ...namesOf(session), reason: `it ${what}` });
  }

  ran(session: LoggedSession, { code, items, summary }: EndedRun): void {
    const { id: executionId, outcome, durationMs, state, error } = summary;
    this.#log({
      level: outcome.status === 'crashed' || state.status !== 'preserved' ? 'warn' : 'info',
      event: 'run-ended',
      ...namesOf(session),
      executionId,
      outcome: outcome.status,
      ...(error && { error: error.name }),
      state: state.status,
      ...(state.earlier && { earlier: state.earlier.status }),
      durationMs,
      ...(this.#withCode && { code, output: textOf(items) }),
    });
  }
}

function namesOf({ id: sessionId, clientId }: LoggedSession): { sessionId: string; clientId: string | null } {
  return { sessionId, clientId };
}

function textOf(items: readonly TranscriptItem[]): string {
  return items.map((item) => (item.type === 'text' ? item.text : (item.result.data['text/plain'] ?? ''))).join('');
}

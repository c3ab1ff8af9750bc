/** A session whose runs are noted in a history, as an export needs them. */
import type { RunOptions, Session, Summary } from '../../src/index.ts';
import type { TranscriptItem } from '../../src/execution/transcript.ts';
import type { History, Start } from '../../src/notebook/history.ts';

export class RecordedSession {
  readonly #session: Session;
  readonly #history: History;

  constructor(session: Session, history: History) {
    this.#session = session;
    this.#history = history;
  }

  async run(code: string, options: RunOptions = {}, kind: Start['kind'] = 'run'): Promise<Summary> {
    const end = this.#history.begin({ code, echo: options.echo ?? 'last', kind });
    const items: TranscriptItem[] = [];
    for await (const event of this.#session.stream(code, options)) {
      if (event.type === 'output') items.push({ type: 'text', stream: event.stream, text: event.text });
      else if (event.type === 'result') items.push(event);
      else if (event.type === 'clear') items.length = 0;
      else if (event.type === 'done') {
        end(items, event.summary);
        return event.summary;
      }
    }
    throw new Error('the run did not end');
  }

  async rollback(): Promise<void> {
    await this.#session.rollback();
    this.#history.undo();
  }

  async reset(): Promise<void> {
    await this.#session.reset();
    this.#history.restart('it was reset');
  }
}

import type { Event, Summary } from '../../execution/event.ts';
import type { Session } from '../../host/session.ts';
import type { Context } from '../terminal/context.ts';
import { notify } from '../terminal/failure.ts';

const MAX_NAMED_FILES = 5;
const REMEDY = '--output-dir DIR before the program keeps';

/** What a run makes that is removed with its session, because nobody asked to keep it. */
export class Losses {
  readonly #session: Session;
  readonly #context: Context;
  /** When the files that were there before the run were written. */
  readonly #before: ReadonlyMap<string, number>;
  #pictures: (number | undefined)[] = [];

  private constructor(session: Session, context: Context, before: ReadonlyMap<string, number>) {
    this.#session = session;
    this.#context = context;
    this.#before = before;
  }

  static async before(session: Session, context: Context): Promise<Losses> {
    const files = context.stderr.isTerminal ? await filesOf(session) : [];
    return new Losses(session, context, new Map(files.map((file) => [file.path, file.modifiedAt.getTime()])));
  }

  add(event: Event): void {
    if (event.type === 'clear') this.#pictures = [];
    if (event.type === 'result' && isPicture(event.result.data)) this.#pictures.push(event.picture);
  }

  /** Figures are always told. Files are told to a person at a terminal, who may not know where they are. */
  async report({ savedFigures = [] }: Summary): Promise<void> {
    const saved = new Set(savedFigures.map(({ picture }) => picture));
    const count = this.#pictures.filter((picture) => picture === undefined || !saved.has(picture)).length;
    if (count === 1) await notify(`1 figure was not saved; ${REMEDY} it`, this.#context);
    if (count > 1) await notify(`${count} figures were not saved; ${REMEDY} them`, this.#context);
    if (this.#context.stderr.isTerminal) await this.#nameFiles();
  }

  async #nameFiles(): Promise<void> {
    const files = await filesOf(this.#session);
    const made = files.filter((file) => this.#before.get(file.path) !== file.modifiedAt.getTime());
    const names = [...new Set(made.map((file) => file.path.split('/')[0] ?? ''))];
    if (names.length === 0) return;
    const more = names.length > MAX_NAMED_FILES ? ` and ${names.length - MAX_NAMED_FILES} more` : '';
    const named = `${names.slice(0, MAX_NAMED_FILES).join(', ')}${more}`;
    await notify(`${named}: gone with the session; ${REMEDY} files`, this.#context);
  }
}

async function filesOf(session: Session): Promise<readonly { readonly path: string; readonly modifiedAt: Date }[]> {
  const { files } = await session.files.list().catch(() => ({ files: [] })); // the notice is not worth an error
  return files;
}

function isPicture(data: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(data).some((mime) => /^image\/|^application\/vnd\.(plotly|vegalite)\./.test(mime));
}

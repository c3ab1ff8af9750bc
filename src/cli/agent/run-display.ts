import type { Display } from '../../agent/chat/display.ts';
import { describeState } from '../../execution/description.ts';
import type { Event } from '../../execution/event.ts';
import type { Execution } from '../../execution/execution.ts';
import type { LoadedFigure } from '../../tool/figures.ts';
import type { OutputFolder } from '../session/output-folder.ts';
import { describeEnd } from '../terminal/failure.ts';
import { inlinePicture } from './inline-picture.ts';
import type { RunListener } from './session-tool.ts';

export interface RunDisplayParts {
  readonly display: Display;
  /** Gets copies of what the code produces. */
  readonly folder: OutputFolder;
  readonly environment: NodeJS.ProcessEnv;
  readonly isTerminal: boolean;
}

/** Shows a person what the agent's code does while it runs, and where the files are that it produced. */
export class RunDisplay implements RunListener {
  readonly #parts: RunDisplayParts;

  constructor(parts: RunDisplayParts) {
    this.#parts = parts;
  }

  async onEvent(event: Event): Promise<void> {
    const { display } = this.#parts;
    if (event.type === 'output') await display.piece(event.stream === 'stdout' ? 'output' : 'error', event.text);
    else if (event.type === 'result' && event.result.kind !== 'figure') {
      await display.block('output', event.result.data['text/plain'] ?? '');
    }
  }

  async onEnd(execution: Execution): Promise<void> {
    const { display, folder } = this.#parts;
    const { error, outcome, state } = execution;
    if (error) await display.block('error', error.traceback);
    const end = describeEnd(outcome);
    if (end !== undefined) await display.block('notice', end);
    const notice = describeState(state);
    if (notice !== '') await display.block('notice', notice);
    await folder.addPictures(execution, (picture) => this.#showPicture(picture));
    await folder.addFiles(execution);
  }

  async #showPicture({ figure, bytes }: LoadedFigure): Promise<void> {
    const { display, environment, isTerminal } = this.#parts;
    const canShow = isTerminal && figure.mime === 'image/png';
    const inline = canShow ? inlinePicture(bytes, environment) : undefined;
    if (inline !== undefined) await display.raw(inline);
  }
}

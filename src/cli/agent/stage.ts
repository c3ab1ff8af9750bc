import type { Display } from '../../agent/chat/display.ts';
import { describeState } from '../../execution/description.ts';
import type { Event } from '../../execution/event.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import type { RunFolder } from '../../tool/code-interpreter/artifact-folder.ts';
import type { LoadedFigure } from '../../tool/figures.ts';
import { describeEnd } from '../failure.ts';
import { HandOver } from '../hand-over.ts';
import { inlinePicture } from './picture.ts';
import type { Watcher } from './session-tool.ts';

export interface StageParts {
  readonly display: Display;
  readonly artifacts: Host['artifacts'];
  /** Where what the code makes is put, for the user to keep. */
  readonly folder: RunFolder;
  readonly environment: NodeJS.ProcessEnv;
  /** Pictures can be shown at all. */
  readonly isTerminal: boolean;
}

/** Shows a person what the agent's code does, as it does it, and hands over what it makes. */
export class Stage implements Watcher {
  readonly #parts: StageParts;
  readonly #handOver: HandOver;

  constructor(parts: StageParts) {
    const { display, artifacts, folder } = parts;
    this.#parts = parts;
    this.#handOver = new HandOver({ artifacts, folder, tell: (words) => display.block('notice', `[${words}]`) });
  }

  async onEvent(event: Event): Promise<void> {
    const { display } = this.#parts;
    if (event.type === 'output') await display.piece(event.stream === 'stdout' ? 'output' : 'error', event.text);
    else if (event.type === 'result' && event.result.kind !== 'figure') {
      await display.block('output', event.result.data['text/plain'] ?? '');
    }
  }

  async onEnd(execution: Execution): Promise<void> {
    const { display } = this.#parts;
    const { error, outcome, state } = execution;
    if (error) await display.block('error', error.traceback);
    const end = describeEnd(outcome);
    if (end !== undefined) await display.block('notice', end);
    if (state.status !== 'preserved') await display.block('notice', describeState(state));
    await this.#handOver.pictures(execution, (picture) => this.#showPicture(picture));
    await this.#handOver.files(execution);
  }

  async #showPicture({ figure, bytes }: LoadedFigure): Promise<void> {
    const { display, environment, isTerminal } = this.#parts;
    const canShow = isTerminal && figure.mime === 'image/png';
    const inline = canShow ? inlinePicture(bytes, environment) : undefined;
    if (inline !== undefined) await display.raw(inline);
  }
}

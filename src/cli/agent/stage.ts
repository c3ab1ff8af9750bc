import type { Display } from '../../agent/chat/display.ts';
import { VivariumError } from '../../errors.ts';
import type { Event } from '../../execution/event.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Interpreter } from '../../session/interpreter.ts';
import type { RunFolder } from '../../tool/code-interpreter/artifact-folder.ts';
import { extensionOf, picturesOf } from '../../tool/pictures.ts';
import { describeEnd } from '../failure.ts';
import { inlinePicture } from './picture.ts';
import type { Watcher } from './session-tool.ts';

export interface StageParts {
  readonly display: Display;
  readonly artifacts: Interpreter['artifacts'];
  /** Where what the code makes is put, for the user to keep. */
  readonly folder: RunFolder;
  readonly environment: NodeJS.ProcessEnv;
  /** Pictures can be shown at all. */
  readonly isTerminal: boolean;
}

/** Shows a person what the agent's code does, as it does it, and hands over what it makes. */
export class Stage implements Watcher {
  readonly #parts: StageParts;
  #pictures = 0;

  constructor(parts: StageParts) {
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
    const { display } = this.#parts;
    const { error, outcome, state } = execution;
    if (error) await display.block('error', error.traceback);
    const end = describeEnd(outcome);
    if (end !== undefined) await display.block('notice', end);
    if (state.status === 'restored') await display.block('notice', 'the variables are those from before this run');
    if (state.status === 'lost') await display.block('notice', 'all variables are lost');
    await this.#showPictures(execution);
    await this.#handOver(execution);
  }

  async #showPictures(execution: Execution): Promise<void> {
    const { display, artifacts, environment, isTerminal } = this.#parts;
    for (const { figure, bytes } of await picturesOf(execution, artifacts)) {
      const canShow = isTerminal && figure.mime === 'image/png';
      const inline = canShow ? inlinePicture(bytes, environment) : undefined;
      if (inline !== undefined) await display.raw(inline);
      if (figure.path !== undefined) continue; // a file, handed over with the others
      this.#pictures += 1;
      const name = `figure-${this.#pictures}${extensionOf(figure.mime)}`;
      await this.#keep('picture', name, { source: bytes, sizeBytes: bytes.length });
    }
  }

  async #handOver({ files }: Execution): Promise<void> {
    const { display, artifacts } = this.#parts;
    for (const { id, path: name, sizeBytes, notKept } of files) {
      if (id === undefined) await display.block('notice', `[${name} is not kept: ${notKept ?? 'no reason given'}]`);
      else await this.#keep('file', name, { source: await artifacts.open(id), sizeBytes });
    }
  }

  /** Names are the program's choice: one that leads elsewhere is refused, which must not spoil the answer. */
  async #keep(
    what: string,
    name: string,
    { source, sizeBytes }: { source: Parameters<RunFolder['add']>[1]; sizeBytes: number },
  ): Promise<void> {
    const { display, folder } = this.#parts;
    try {
      const { path } = await folder.add(name, source, sizeBytes);
      await display.block('notice', `[${what}: ${path}]`);
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error;
      await display.block('notice', `[${what} ${name} is not kept: ${error.message}]`);
    }
  }
}

import type { Execution } from '../../execution/execution.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import { escapeAnsi } from '../../text/clean-text.ts';
import type { ActionItem } from '../action/action-return.ts';
import { describeEnd, joinLines } from '../endings.ts';
import { publishPicture } from './images.ts';

/** What a run printed and showed, as a notebook has it. */
export interface Rendering {
  /** Output of both streams and values, in the order in which they came. */
  readonly text: string;
  /** The figures: the path of each. */
  readonly images: readonly ActionItem[];
}

export async function render(items: readonly TranscriptItem[], workDir: string): Promise<Rendering> {
  const parts: string[] = [];
  const images: ActionItem[] = [];
  for (const item of items) {
    if (item.type === 'text') {
      parts.push(item.text);
      continue;
    }
    const image = await publishPicture(item.result, workDir);
    if (image !== null) images.push(image);
    if (image === null || item.result.kind === 'result') parts.push(item.result.data['text/plain'] ?? '');
  }
  return { text: joinLines(parts), images };
}

/** What went wrong: all the text there was, then the traceback or the limit; null when nothing did. */
export function describeFailure(execution: Execution, text: string, timeoutS: number): string | null {
  const { outcome, error, state } = execution;
  if (outcome.status === 'succeeded') return null;
  const isTimeout = outcome.status === 'timed-out';
  const end = isTimeout ? `Timeout. No response after ${timeoutS} seconds.` : describeEnd(outcome);
  const traceback = isTimeout ? '' : escapeAnsi(error?.traceback ?? '');
  return joinLines([text, traceback, end, STATE_NOTES[state.status]]);
}

const STATE_NOTES: Readonly<Record<Execution['state']['status'], string>> = {
  preserved: '',
  restored: 'The process was lost; every variable is as it was before this run.',
  lost: 'All variables are lost: this is a fresh interpreter.',
};

/** What has to be said of a state that is not what it seems, although the run itself went well. */
export function describeLoss({ outcome, state }: Execution): string {
  return outcome.status === 'succeeded' ? STATE_NOTES[state.status] : '';
}

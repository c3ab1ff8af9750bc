import { describeOutcome } from '../execution/description.ts';
import { hasEndedByItself } from '../execution/outcome.ts';
import type { Ending, Entry } from './history.ts';
import { markdownCell, type MarkdownCell, type MimeBundle } from './nbformat.ts';
import { toMimeBundle } from './outputs.ts';
import { fenced, inlineText } from './text.ts';

/** A run that must not be repeated, told as text: its code, what came of it, and what it showed until then. */
export function stoppedCell(id: string, entry: Entry): MarkdownCell {
  const { executionCount, code, outputs, ending } = entry;
  const attachments: Record<string, MimeBundle> = {};
  const shown = outputs.map((item) => {
    if (item.type === 'text') return fenced(item.text);
    const png = item.result.data['image/png'];
    if (png === undefined) return fenced(item.result.data['text/plain'] ?? '');
    const name = `figure-${Object.keys(attachments).length + 1}.png`;
    attachments[name] = toMimeBundle({ 'image/png': png });
    return `![${name}](attachment:${name})`;
  });
  const parts = [
    `**Run ${executionCount} is not repeated here: ${inlineText(reasonOf(ending))}.** ${consequenceOf(ending)}`,
    fenced(code, 'python'),
    ...shown,
    ...(ending?.error ? [fenced(ending.error.traceback)] : []),
  ];
  return markdownCell(id, parts.join('\n\n'), attachments);
}

function reasonOf(ending: Ending | undefined): string {
  if (ending === undefined) return 'how it ended is not known';
  return hasEndedByItself(ending.outcome)
    ? 'its code has lone surrogates, which no file can hold; they are shown as escapes'
    : describeOutcome(ending.outcome, 'it');
}

function consequenceOf(ending: Ending | undefined): string {
  if (ending === undefined || (ending.stateStatus === 'preserved' && ending.mayHaveChanged))
    return 'What it had changed until then stayed in the session, and later cells may need it.';
  return ending.stateStatus === 'restored' ? 'The variables were restored to those from before it.' : '';
}

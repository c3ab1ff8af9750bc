import { isCancel, select, text } from '@clack/prompts';
import { VivariumError } from '../../errors.ts';
import type { Approval, Decision } from '../../storage/approvals/approval.ts';
import type { Context } from '../context.ts';
import { editCode } from './editor.ts';
import { printReview } from './review.ts';

/** Whether somebody sits there who can be asked. */
export function canAsk({ stdin, stderr }: Context): boolean {
  return stdin.isTTY && stderr.isTerminal;
}

/** Asks the person at the terminal; null when they leave it for later. */
export async function askDecision(approval: Approval, context: Context): Promise<Decision | null> {
  await context.stderr.endLine();
  await printReview(approval, context.stderr);
  for (;;) {
    const choice = await choose(context);
    if (choice === null || choice === 'later') return null;
    const decision = await complete(choice, approval, context);
    if (decision !== null) return decision;
    if (context.lifetime.signal.aborted) return null;
  }
}

type Choice = Decision['type'] | 'later';

/** A key that was pressed too early must not approve anything: what is chosen first decides nothing. */
async function choose(context: Context): Promise<Choice | null> {
  const choice = await select<Choice>({
    ...terminalOf(context),
    message: 'What shall become of this code?',
    options: [
      { value: 'later', label: 'Decide later', hint: 'it keeps waiting, also when this process ends' },
      { value: 'approve', label: 'Run exactly this code' },
      { value: 'edit', label: 'Edit it, and run the result', hint: 'opens your editor' },
      { value: 'respond', label: 'Have other code written', hint: 'say what to do differently' },
      { value: 'reject', label: 'Reject it' },
    ],
  });
  return isCancel(choice) ? null : choice;
}

/** What a choice needs besides; null when the person thinks better of it. */
async function complete(type: Decision['type'], { code }: Approval, context: Context): Promise<Decision | null> {
  switch (type) {
    case 'approve':
      return { type };
    case 'edit': {
      const edited = await edit(code, context);
      return edited === null ? null : { type, code: edited };
    }
    case 'respond': {
      const words = await say('What is to be done differently?', context);
      return words === null || words === '' ? null : { type, text: words };
    }
    case 'reject': {
      const reason = await say('Why? (may stay empty)', context);
      return reason === null ? null : { type, ...(reason !== '' && { reason }) };
    }
  }
}

/** An editor that cannot be used ends neither the question nor the task. */
async function edit(code: string, context: Context): Promise<string | null> {
  try {
    const edited = await editCode(code, context);
    if (edited === null) await context.stderr.line('The code is as it was, so nothing is decided.');
    return edited;
  } catch (error) {
    if (!(error instanceof VivariumError)) throw error;
    await context.stderr.line(error.message);
    return null;
  }
}

async function say(message: string, context: Context): Promise<string | null> {
  const words = await text({ ...terminalOf(context), message });
  return isCancel(words) ? null : (words ?? '').trim();
}

function terminalOf({ stdin, stderr, lifetime }: Context) {
  return { input: stdin, output: stderr.canvas, signal: lifetime.signal };
}

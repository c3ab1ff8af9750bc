import { isCancel, select, text } from '@clack/prompts';
import { VivariumError } from '../../errors.ts';
import type { Approval, Decision } from '../../storage/approval/approval.ts';
import type { Context } from '../terminal/context.ts';
import { editCode } from './editor.ts';
import { printReview } from './approval-text.ts';

/** Whether there is a terminal at which a person can be asked. */
export function canAsk({ stdin, stderr }: Context): boolean {
  return stdin.isTTY && stderr.isTerminal;
}

/** Asks the person at the terminal. Null if they decide later. */
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

type PromptChoice = Decision['type'] | 'later';

/** The preselected choice decides nothing, so that a key pressed too early approves nothing. */
async function choose(context: Context): Promise<PromptChoice | null> {
  const choice = await select<PromptChoice>({
    ...terminalOf(context),
    message: 'What should happen with this code?',
    options: [
      { value: 'later', label: 'Decide later', hint: 'it stays pending after this process ends' },
      { value: 'approve', label: 'Run exactly this code' },
      { value: 'edit', label: 'Edit it and run the result', hint: 'opens your editor' },
      { value: 'respond', label: 'Ask for other code', hint: 'say what to do differently' },
      { value: 'reject', label: 'Reject it' },
    ],
  });
  return isCancel(choice) ? null : choice;
}

/** Asks for what the choice needs. Null if the person goes back. */
async function complete(type: Decision['type'], { code }: Approval, context: Context): Promise<Decision | null> {
  switch (type) {
    case 'approve':
      return { type };
    case 'edit': {
      const edited = await edit(code, context);
      return edited === null ? null : { type, code: edited };
    }
    case 'respond': {
      const words = await askText('What should it do differently?', context);
      return words === null || words === '' ? null : { type, text: words };
    }
    case 'reject': {
      const reason = await askText('Why? (optional)', context);
      return reason === null ? null : { type, ...(reason !== '' && { reason }) };
    }
  }
}

/** Reports a failing editor, and lets the person choose again. */
async function edit(code: string, context: Context): Promise<string | null> {
  try {
    const edited = await editCode(code, context);
    if (edited === null) await context.stderr.line('The code was not changed, so nothing is decided.');
    return edited;
  } catch (error) {
    if (!(error instanceof VivariumError)) throw error;
    await context.stderr.line(error.message);
    return null;
  }
}

async function askText(message: string, context: Context): Promise<string | null> {
  const words = await text({ ...terminalOf(context), message });
  return isCancel(words) ? null : (words ?? '').trim();
}

function terminalOf({ stdin, stderr, lifetime }: Context) {
  return { input: stdin, output: stderr.canvas, signal: lifetime.signal };
}

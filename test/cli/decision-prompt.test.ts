/** A person at a terminal decides: each choice, going back, and leaving. */
import { chmod, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { askDecision, canAsk } from '../../src/cli/review/decision-prompt.ts';
import { editCode } from '../../src/cli/review/editor.ts';
import type { Decision } from '../../src/storage/approvals/approval.ts';
import { approvalOf } from '../support/approval.ts';
import { CommandContext } from '../support/command-context.ts';

const CODE = 'x = 1\n';
const QUESTION = 'What should happen with this code?';
const DOWN = '\u001B[B';
const ENTER = '\r';
const CTRL_C = '\u0003';
const [LATER, APPROVE, EDIT, RESPOND, REJECT] = [0, 1, 2, 3, 4].map((steps) => DOWN.repeat(steps) + ENTER) as [
  string,
  string,
  string,
  string,
  string,
];

let bin: string;

beforeAll(async () => {
  bin = await mkdtemp(path.join(tmpdir(), 'vivarium-editors-'));
  const editors = {
    change: 'cat "$1" > "$(dirname "$0")/seen"; stat -c %a "$1" >> "$(dirname "$0")/seen"; echo "x = 2" > "$1"',
    keep: 'true',
    empty: 'printf " \\n" > "$1"',
    fail: 'exit 3',
    kill: 'kill -9 $$',
    option: '[ "$1" = --wait ] && echo "x = 3" > "$2"',
    hang: 'echo ready > "$(dirname "$0")/hanging"; exec sleep 60',
  };
  for (const [name, script] of Object.entries(editors)) {
    await writeFile(path.join(bin, name), `#!/bin/sh\n${script}\n`);
    await chmod(path.join(bin, name), 0o755);
  }
  return () => rm(bin, { recursive: true, force: true });
});

function terminal(editor = 'keep'): CommandContext {
  return new CommandContext({ isTerminal: true, columns: 100, environment: { EDITOR: path.join(bin, editor) } });
}

/** Answers each question when it has been asked. */
async function decide(
  context: CommandContext,
  ...answers: readonly (readonly [string, string])[]
): Promise<Decision | null> {
  const decided = askDecision(approvalOf(CODE), context);
  for (const [question, keys] of answers) {
    await context.err.until(question);
    context.keyboard.write(keys);
  }
  return decided;
}

describe('At the prompt', () => {
  test('the review comes first, on a line of its own and on standard error', async () => {
    const context = terminal();
    await context.stderr.write('half a line');
    await decide(context, [QUESTION, LATER]);
    expect(context.err.plain).toMatch(/^half a line\nApproval a-1\n[^]*│ x = 1\n[^]*What should happen/);
    expect(context.out.text).toBe('');
  });

  test('a key that is pressed too early approves nothing', async () => {
    expect(await decide(terminal(), [QUESTION, ENTER])).toBeNull();
  });

  test.for([
    ['later', [[QUESTION, LATER]], null],
    ['approve', [[QUESTION, APPROVE]], { type: 'approve' }],
    [
      'reject',
      [
        [QUESTION, REJECT],
        ['Why?', ` not now ${ENTER}`],
      ],
      { type: 'reject', reason: 'not now' },
    ],
    [
      'reject without a reason',
      [
        [QUESTION, REJECT],
        ['Why?', ENTER],
      ],
      { type: 'reject' },
    ],
    [
      'respond',
      [
        [QUESTION, RESPOND],
        ['differently?', `the median${ENTER}`],
      ],
      { type: 'respond', text: 'the median' },
    ],
    ['leave with Ctrl-C', [[QUESTION, CTRL_C]], null],
  ] as const)('a person can %s', async ([, answers, decision]) => {
    expect(await decide(terminal(), ...answers)).toEqual(decision);
  });

  test.for([
    ['no words to respond with', RESPOND, 'differently?', ENTER],
    ['only spaces to respond with', RESPOND, 'differently?', `   ${ENTER}`],
    ['Ctrl-C at a response', RESPOND, 'differently?', CTRL_C],
    ['Ctrl-C at a reason', REJECT, 'Why?', CTRL_C],
  ] as const)('%s leads back to the question', async ([, choice, question, keys]) => {
    expect(await decide(terminal(), [QUESTION, choice], [question, keys], [QUESTION, APPROVE])).toEqual({
      type: 'approve',
    });
  });

  test('edited code is what runs', async () => {
    expect(await decide(terminal('change'), [QUESTION, EDIT])).toEqual({ type: 'edit', code: 'x = 2\n' });
  });

  test.for([
    ['keep', 'The code was not changed, so nothing is decided.'],
    ['empty', 'The code was not changed, so nothing is decided.'],
    ['fail', 'failed: it ended with 3. Nothing was decided.'],
    ['none', 'failed: it ended with 127. Nothing was decided.'],
  ] as const)('an editor that does "%s" is reported, and the person chooses again', async ([editor, words]) => {
    const context = terminal(editor);
    expect(await decide(context, [QUESTION, EDIT], [words, ''], [QUESTION, LATER])).toBeNull();
  });

  test('a signal ends the question without a decision', async () => {
    const context = terminal();
    const decided = askDecision(approvalOf(CODE), context);
    await context.err.until(QUESTION);
    context.lifetime.receive('SIGTERM');
    expect(await decided).toBeNull();
  });

  test.for([
    [true, true, true],
    [true, false, false],
    [false, true, false],
  ] as const)('a person can be asked: input %s, errors %s: %s', ([input, errors, answer]) => {
    const context = new CommandContext({ isTerminal: errors });
    Object.assign(context.stdin, { isTTY: input });
    expect(canAsk(context)).toBe(answer);
  });
});

describe('The editor', () => {
  test('gets the code in a file that only its owner can read, which is gone afterwards', async () => {
    const temporary = await mkdtemp(path.join(tmpdir(), 'vivarium-tmp-'));
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      return rm(temporary, { recursive: true, force: true });
    });
    expect(await editCode(CODE, terminal('change'))).toBe('x = 2\n');
    expect(await readFile(path.join(bin, 'seen'), 'utf8')).toBe(`${CODE}600\n`);
    await expect(editCode(CODE, terminal('fail'))).rejects.toMatchObject({ code: 'USAGE' });
    expect(await readdir(temporary)).toEqual([]);
  });

  test.for([
    ['VISUAL comes before EDITOR', { VISUAL: 'change', EDITOR: 'fail' }, 'x = 2\n'],
    ['an empty VISUAL counts as unset', { VISUAL: '', EDITOR: 'change' }, 'x = 2\n'],
    ['it may have options', { EDITOR: 'option --wait' }, 'x = 3\n'],
  ] as const)('is chosen by the environment: %s', async ([, names, edited]) => {
    const environment = Object.fromEntries(
      Object.entries(names).map(([name, editor]) => [name, editor && path.join(bin, editor)]),
    );
    expect(await editCode(CODE, new CommandContext({ environment }))).toBe(edited);
  });

  test('that was killed is reported', async () => {
    await expect(editCode(CODE, terminal('kill'))).rejects.toThrow(/failed: it ended with (137|a signal)/);
  });

  test('handles Ctrl-C itself, and is ended with the command', async () => {
    const context = terminal('hang');
    const edited = editCode(CODE, context);
    const hanging = path.join(bin, 'hanging');
    await vi.waitFor(() => readFile(hanging));
    expect(context.lifetime.receive('SIGINT')).toBe(true);
    expect(context.lifetime.signal.aborted).toBe(false);
    context.lifetime.receive('SIGTERM');
    await expect(edited).rejects.toMatchObject({ name: 'AbortError' });
    expect(context.lifetime.receive('SIGINT')).toBe(false);
  });
});

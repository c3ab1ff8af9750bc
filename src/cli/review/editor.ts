import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import type { Context } from '../terminal/context.ts';

/** Opens code in the editor of the person at the terminal. Null if they did not change it. */
export async function editCode(code: string, { environment, lifetime }: Context): Promise<string | null> {
  const editor = environment['VISUAL'] || environment['EDITOR'] || 'vi';
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-edit-')); // only its owner can read it
  try {
    const file = path.join(directory, 'code.py');
    await writeFile(file, code, { mode: 0o600 });
    using _ = lifetime.handleInterrupts(() => {}); // the editor handles Ctrl-C
    // A shell splits the variable, which may hold options. With `exec`, a signal reaches the editor itself.
    // Standard output may be a pipe, so the editor writes to our standard error, which is the terminal.
    const child = spawn('sh', ['-c', `exec ${editor} "$1"`, 'editor', file], {
      stdio: ['inherit', 2, 2],
      signal: lifetime.signal,
    });
    const [exitCode] = (await once(child, 'close')) as [number | null];
    if (exitCode !== 0) throw failed(editor, `it ended with ${exitCode ?? 'a signal'}`);
    const edited = await readFile(file, 'utf8');
    return edited === code || edited.trim() === '' ? null : edited;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function failed(editor: string, why: string): VivariumError {
  return new VivariumError(
    'USAGE',
    `The editor ${JSON.stringify(editor)} failed: ${why}. Nothing was decided. Set EDITOR, or use \`vivarium approvals edit --code FILE\`.`,
  );
}

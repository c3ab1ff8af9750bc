import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import type { Context } from '../terminal/context.ts';

/** Lets the person at the terminal change code with the editor of their choice; null when they left it as it was. */
export async function editCode(code: string, { environment, lifetime }: Context): Promise<string | null> {
  const editor = environment['VISUAL'] || environment['EDITOR'] || 'vi';
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-edit-')); // nobody else can look into it
  try {
    const file = path.join(directory, 'code.py');
    await writeFile(file, code, { mode: 0o600 });
    using _ = lifetime.handleInterrupts(() => {}); // Ctrl-C is for the editor
    // A shell reads the variable, since it may hold options; the terminal is where we write our own words.
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'editor', file], {
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
    `The editor ${JSON.stringify(editor)} did not edit the code: ${why}. Nothing was decided; set EDITOR, or use vivarium approvals edit --code FILE.`,
  );
}

/** A Python for tests that need any: the interpreter itself, since `python3` can be a script that starts one. */
import { execFileSync } from 'node:child_process';

let found: string | undefined;

/** Its path. Signals, pids and times are those of the interpreter, as with a script they are not. */
export function realPython(): string {
  const ask = ['-I', '-c', 'import sys; print(sys.executable)'];
  return (found ??= execFileSync('python3', ask, { encoding: 'utf8' }).trim());
}

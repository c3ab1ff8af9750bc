/** The Python program that a command runs, with its arguments. */
import { isUtf8 } from 'node:buffer';
import { fstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { VivariumError } from '../../errors.ts';
import { MAX_STDIN_BYTES } from '../../host/options.ts';
import { pythonString } from '../../text/code/python-code.ts';
import { isPlainPath } from '../../workspace/names.ts';
import type { Context } from '../terminal/context.ts';

export interface PythonProgram {
  readonly code: string;
  /** What Python calls it in a traceback. */
  readonly filename: string;
  /** `sys.argv`. */
  readonly argv: readonly string[];
  /** Its path on this machine and the name of its copy in the workspace, which `__file__` names. */
  readonly file?: { readonly path: string; readonly name: string };
}

/** What a program that reads its standard input mentions. */
const READS_INPUT = /\binput\b|stdin\b|\bfileinput\b|^[ \t]*(?:%%|!|\w+[ \t]*=[ \t]*!)/mu;
const MAX_FILENAME_CHARS = 500;
const STDIN = '<stdin>';

/** Reads a program as Python would: from `-c CODE`, from the file that the first operand names, or from stdin for `-`. */
export async function readProgram(
  operands: readonly string[],
  code: string | undefined,
  { stdin }: Pick<Context, 'stdin'>,
): Promise<PythonProgram> {
  if (code !== undefined) return { filename: '<string>', code, argv: ['-c', ...operands] };
  const [file] = operands;
  if (file === undefined) throw new VivariumError('USAGE', 'There is nothing to run. Give a file, - or -c CODE.');
  if (file === '-') return { filename: STDIN, code: await text(stdin), argv: operands };
  try {
    const content = await readFile(file, 'utf8');
    const name = path.basename(file);
    const copy = { path: path.resolve(file), name };
    return { filename: filenameOf(file), code: content, argv: operands, ...(isPlainPath(name) && { file: copy }) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new VivariumError('USAGE', `Cannot read ${file}: ${why}. Check the path.`, { cause: error });
  }
}

/**
 * The standard input of a program: a file always, a pipe if the program mentions its input. A calling program may leave
 * a pipe open for ever, and Python would not wait for it either.
 */
export async function readInput({ code, filename }: PythonProgram, { stdin }: Pick<Context, 'stdin'>) {
  if (filename === STDIN || stdin.isTTY) return undefined;
  const kind = fstatSync(0);
  const isPipe = kind.isFIFO() || kind.isSocket();
  if (!kind.isFile() && !(isPipe && READS_INPUT.test(code))) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_STDIN_BYTES) break; // the host says what is wrong with it
  }
  const bytes = Buffer.concat(chunks);
  if (isUtf8(bytes) || size > MAX_STDIN_BYTES) return bytes.toString();
  throw new VivariumError('USAGE', 'The standard input is not text in UTF-8. Give the program a file instead.');
}

/** Code that gives a session what Python gives a program: `sys.argv`, and `__file__` unless it is `-c CODE`. */
export function introduce({ argv, file, filename }: PythonProgram): string {
  const lines = [`__import__("sys").argv[:] = [${argv.map(pythonString).join(', ')}]`];
  if (filename === STDIN) lines.push(`__file__ = ${pythonString(STDIN)}`); // as Python does
  if (file) lines.push(`__file__ = __import__("os").path.abspath(${pythonString(file.name)})`);
  return lines.join('\n');
}

/** A path may be longer than a `filename`, and may contain line breaks. */
function filenameOf(file: string): string {
  return file.replaceAll(/[\r\n\u2028\u2029\p{Cs}]/gu, '?').slice(-MAX_FILENAME_CHARS);
}

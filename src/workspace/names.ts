import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { VivariumError } from '../errors.ts';

/** The limit of Linux file systems, so that a name that was read can be written again. */
const MAX_NAME_BYTES = 255;

/** The limit of Linux for a whole path and the byte that ends it. A longer one can be walked, but nobody can open it. */
export const MAX_PATH_BYTES = 4096;

/** Far more than anybody needs. Directories are made and opened one by one, and meanwhile everybody waits. */
const MAX_PARTS = 256;

/** Control characters, line separators and changes of the writing direction, which could deceive the reader of a list. */
const DECEPTIVE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

const DRAFT = /^\.upload-[0-9a-f]{16}$/;

/** A name that a directory holds as bytes. Null if it is not plain text. */
export function decodeName(bytes: Buffer): string | null {
  if (bytes.length > MAX_NAME_BYTES || !isUtf8(bytes)) return null;
  const name = bytes.toString();
  return DECEPTIVE.test(name) ? null : name;
}

/** Any name in a form that is safe to show: bytes that are not text as `\xff`, deceptive characters as `\u{a}`. */
export function showName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString().replaceAll(new RegExp(DECEPTIVE, 'gu'), escapeCharacter);
  return Array.from(bytes, (byte) => (isPrintable(byte) ? String.fromCharCode(byte) : escapeByte(byte))).join('');
}

/** A name for a file that is being uploaded. */
export function makeDraftName(): string {
  return `.upload-${randomBytes(8).toString('hex')}`;
}

/** Drafts are not listed, because a file appears only when it is complete. */
export function isDraftName(name: string): boolean {
  return DRAFT.test(name);
}

/** A path inside a workspace: a name, and the directories that lead to it. */
export interface InnerPath {
  readonly parents: readonly string[];
  readonly name: string;
}

/** Splits a path that a caller gave. It can only lead downwards, whatever the directories hold. */
export function parsePath(path: string): InnerPath {
  const steps = path.split('/');
  const name = steps.pop() ?? '';
  if (steps.length > 0 && steps.every((step) => step === '')) throw refused(path, 'it is absolute');
  if (steps.length >= MAX_PARTS) throw refused(path, `it has more than ${MAX_PARTS} parts`);
  for (const step of [...steps, name]) {
    const problem = findProblem(step);
    if (problem !== null) throw refused(path, problem);
  }
  return { parents: steps, name };
}

/** Whether `parsePath` would accept a path. */
export function isPlainPath(path: string): boolean {
  const steps = path.split('/');
  return steps.length <= MAX_PARTS && steps.every((step) => findProblem(step) === null);
}

/** Whether a part of a path begins with a dot. Such a file may be a setting of other programs, as `.git/config` is. */
export function isHiddenPath(path: string): boolean {
  return path.split('/').some((step) => step.startsWith('.'));
}

function findProblem(step: string): string | null {
  if (step === '') return 'a part of it is empty';
  if (step === '.' || step === '..') return `it contains "${step}"`;
  if (!step.isWellFormed() || decodeName(Buffer.from(step)) === null)
    return 'a part of it is too long or not plain text';
  return null;
}

function refused(path: string, reason: string): VivariumError {
  const shown = showName(Buffer.from(path.slice(0, MAX_NAME_BYTES)));
  return new VivariumError(
    'FILE_REFUSED',
    `The path "${shown}" cannot be used: ${reason}. Give one that is relative to the workspace, such as "data/table.csv".`,
  );
}

function escapeCharacter(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`;
}

function escapeByte(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, '0')}`;
}

function isPrintable(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f;
}

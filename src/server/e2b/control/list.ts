/** Pages of a list of sandboxes. */
import { VivariumError } from '../../../errors.ts';
import type { RunningSandbox } from '../sandbox/sandboxes.ts';
import type { ListQuery } from './schema.ts';

export interface SandboxPage {
  readonly items: readonly RunningSandbox[];
  /** Asks for the next page; null on the last. */
  readonly nextToken: string | null;
}

/** Those that fit the query, by the time of their start, from where the last page ended. */
export function selectPage(all: readonly RunningSandbox[], query: ListQuery): SandboxPage {
  const direction = query.order === 'asc' ? 1 : -1;
  const wanted = all
    .filter((one) => isWanted(one, query))
    .toSorted((one, other) => direction * compare(positionOf(one), positionOf(other)));
  const last = query.nextToken === undefined ? null : readToken(query.nextToken);
  const rest = last === null ? wanted : wanted.filter((one) => direction * compare(positionOf(one), last) > 0);
  const items = rest.slice(0, query.limit);
  const end = items.at(-1);
  return { items, nextToken: end === undefined || rest.length === items.length ? null : makeToken(end) };
}

function isWanted({ sandbox }: RunningSandbox, { metadata, state, startedAfter, template }: ListQuery): boolean {
  if (state !== undefined && !state.split(',').includes('running')) return false;
  if (startedAfter !== undefined && sandbox.startedAt.getTime() <= Date.parse(startedAfter)) return false;
  if (template !== undefined && sandbox.settings.templateId !== template) return false;
  return readMetadata(metadata ?? '').every(([key, value]) => sandbox.settings.metadata[key] === value);
}

/** The SDKs encode keys and values, and then the whole again. */
export function readMetadata(query: string): (readonly [string, string])[] {
  try {
    return Array.from(new URLSearchParams(query), ([key, value]) => [
      decodeURIComponent(key),
      decodeURIComponent(value),
    ]);
  } catch (error) {
    throw new VivariumError('REQUEST_INVALID', 'The filter by metadata is not percent-encoded correctly.', {
      cause: error,
    });
  }
}

type Position = readonly [startedMs: number, id: string];

function positionOf({ sandbox }: RunningSandbox): Position {
  return [sandbox.startedAt.getTime(), sandbox.id];
}

function compare(one: Position, other: Position): number {
  return one[0] - other[0] || (one[1] < other[1] ? -1 : one[1] > other[1] ? 1 : 0);
}

function makeToken(last: RunningSandbox): string {
  return Buffer.from(positionOf(last).join(' ')).toString('base64url');
}

function readToken(token: string): Position {
  const [, startedMs, id] = /^(\d{1,15}) ([a-z0-9]+)$/.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  if (id !== undefined) return [Number(startedMs), id];
  throw new VivariumError('REQUEST_INVALID', 'nextToken is not one that a list has returned.');
}

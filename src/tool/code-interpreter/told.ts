import { TOLD_CHARS } from '../../execution/output-budget.ts';
import { shorten } from '../../text/excerpt.ts';
import { fitJson } from '../../text/fit-json.ts';
import { cleanText } from '../../text/visible.ts';
import type { CodeInterpreterPayload } from './payload.ts';

/** A longer table is printed by the code itself if the model wants to see it. */
const MAX_TABLE_CHARS = 2000;

/** What a result may take of the model's context: both streams, and as much again for lists and tables. */
const MAX_CHARS = 4 * TOLD_CHARS;

/** What is added to the five keys of a payload when there is something to add. */
export type PayloadAdditions = {
  readonly error?: string;
  /** The isolation level, where it is weaker than the usual one. */
  readonly isolation?: string;
};

/** The payload as a model reads it: the same JSON, with long texts cut and the places marked. */
export function tellPayload(payload: CodeInterpreterPayload & PayloadAdditions): string {
  const { stdout, stderr, dataframes } = payload;
  const told = {
    ...payload,
    stdout: shorten(cleanText(stdout), TOLD_CHARS),
    stderr: shorten(cleanText(stderr), TOLD_CHARS),
    dataframes: dataframes.map(({ name, repr }) => ({ name, repr: shorten(cleanText(repr), MAX_TABLE_CHARS) })),
  };
  return fitJson(told, MAX_CHARS);
}

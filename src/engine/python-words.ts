/** What the Python side says of a program's variables. It is the program's own word: checked in shape, never believed. */
import { z } from 'zod';
import type { Json } from '../execution/execution.ts';

/** JSON, checked apart: around a schema that contains itself zod keeps track of every object, in each frame that has none. */
const AnyJson = z.json();
const JsonValue = z.unknown().transform((value, context): Json => {
  const parsed = AnyJson.safeParse(value);
  if (parsed.success) return parsed.data;
  context.addIssue('not JSON');
  return z.NEVER;
});

const MAX_NAMES = 1000;
const Names = z.array(z.string()).max(MAX_NAMES);

export const VariableChanges = z.object({
  added: Names,
  changed: Names,
  removed: Names,
  omitted: z.int().nonnegative().optional(),
  unseen: z.int().nonnegative().optional(),
});

const DataFrameSummary = z.object({
  name: z.string(),
  type: z.string(),
  rows: z.int().nonnegative(),
  columnCount: z.int().nonnegative(),
  columns: z
    .array(z.object({ name: z.string(), dtype: z.string(), missing: z.int().nonnegative().nullable() }))
    .max(1000),
  preview: z.array(z.array(JsonValue)).max(100),
  index: z.array(JsonValue).max(100).optional(),
  repr: z.string(),
  note: z.string().optional(),
});
export const DataFrameSummaries = z.array(DataFrameSummary).max(100);

export const Variables = z
  .array(
    z.object({
      name: z.string(),
      type: z.string(),
      description: z.string(),
      sizeBytes: z.number().nonnegative().nullable(),
    }),
  )
  .max(10_000);

const Count = z.int().nonnegative();

/** How much a run showed, and how much of it was sent. */
export const ResultsCut = z.object({
  total: Count,
  kept: Count,
  reduced: Count,
  totalBytes: Count,
  keptBytes: Count,
});

const MAX_SAVED = 100;

/** Figures that the program saved, by their path in the workspace. */
export const SavedFigures = z
  .array(
    z
      .object({
        path: z.string().max(4096),
        title: z.string().max(1000).nullable(),
        chart: JsonValue.nullable(),
        picture: z.int().positive().nullable(),
      })
      .transform(({ path, title, chart, picture }) => ({
        path,
        ...(title !== null && { title }),
        ...(chart !== null && { chart }),
        ...(picture !== null && { picture }),
      })),
  )
  .max(MAX_SAVED);

/** What the Python side says of a program's variables. It is the program's own word: checked in shape, never believed. */
import { z } from 'zod';

const MAX_NAMES = 1000;
const Names = z.array(z.string()).max(MAX_NAMES);

export const VariableChanges = z.object({
  added: Names,
  changed: Names,
  removed: Names,
  omitted: z.int().nonnegative().optional(),
});

const DataFrameSummary = z.object({
  name: z.string(),
  type: z.string(),
  rows: z.int().nonnegative(),
  columnCount: z.int().nonnegative(),
  columns: z
    .array(z.object({ name: z.string(), dtype: z.string(), missing: z.int().nonnegative().nullable() }))
    .max(1000),
  preview: z.array(z.array(z.json())).max(100),
  index: z.array(z.json()).max(100).optional(),
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

const MAX_SAVED = 100;

/** Figures that the program saved, by their path in the workspace. */
export const SavedFigures = z
  .array(
    z
      .object({
        path: z.string().max(4096),
        title: z.string().max(1000).nullable(),
        chart: z.json().nullable(),
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

/** What the Python side says of a program's variables. It is the program's own word: checked in shape, never believed. */
import {
  amount,
  fields,
  fieldsAnd,
  integer,
  json,
  listOf,
  made,
  orNull,
  text,
  type Shape,
  type Shaped,
} from './shape.ts';
import { inLine } from '../text/in-line.ts';

const MAX_NAMES = 1000;
export const MAX_TABLES = 100;
export const MAX_SAVED = 100;
/** More than a Python word has: names are cut to 200 characters there. */
const Name = text(1000);
const Names = listOf(Name, MAX_NAMES);

export const VariableChanges = fieldsAnd(
  { added: Names, changed: Names, removed: Names },
  { omitted: integer(), unseen: integer() },
);

const MAX_CELLS_ACROSS = 200;
const MAX_ROWS = 100;
const Columns = listOf(fields({ name: Name, dtype: Name, missing: orNull(integer()) }), 1000);

export const DataFrameSummary = fieldsAnd(
  {
    name: Name,
    type: Name,
    rows: integer(),
    columnCount: integer(),
    columns: Columns,
    preview: listOf(listOf(json, MAX_CELLS_ACROSS), MAX_ROWS),
    repr: text(100_000),
  },
  { index: listOf(json, MAX_ROWS), note: text(1000) },
);

export const Variables = listOf(
  fields({ name: Name, type: Name, description: text(1000), sizeBytes: orNull(amount) }),
  10_000,
);

/** The end of the code that can be completed, and what it can become. */
export const FoundNames = fields({ prefix: text(1000), matches: listOf(text(1000), 1000) });

/** How much a run showed, and how much of it was sent. */
export const ResultsCut = fields({
  total: integer(),
  kept: integer(),
  reduced: integer(),
  totalBytes: integer(),
  keptBytes: integer(),
});

/** What is known of a figure that the program saved, besides its data. The path is that in the workspace. */
export const SavedFields = {
  path: text(4096),
  title: orNull(made(text(1000), (title) => inLine(title))),
  picture: orNull(integer(1)),
};
const Saved = fields({ ...SavedFields, chart: orNull(json) });

/** The same in the form in which it is passed on. */
export const SavedFigure = ((value, field) => namedFigure(Saved(value, field))) satisfies Shape<unknown>;

export function namedFigure({ path, title, chart, picture }: Shaped<typeof Saved>) {
  return {
    path,
    ...(title !== null && { title }),
    ...(chart !== null && { chart }),
    ...(picture !== null && { picture }),
  };
}

/** SQL with separate values: one text works for both databases, and no value is ever part of the text. */

export type SqlValue = string | number | null;

/** A statement or a fragment of one. */
export class Sql {
  readonly texts: readonly string[];
  readonly values: readonly SqlValue[];

  constructor(texts: readonly string[], values: readonly SqlValue[]) {
    this.texts = texts;
    this.values = values;
  }

  /** The text for a database, with its placeholders. */
  render(placeholder: (position: number) => string): string {
    return this.texts.map((text, index) => (index === 0 ? text : placeholder(index) + text)).join('');
  }
}

/** Inserted `Sql` becomes part of the text; everything else becomes a value. */
export function sql(strings: TemplateStringsArray, ...inserts: readonly (Sql | SqlValue)[]): Sql {
  const texts = [strings[0] ?? ''];
  const values: SqlValue[] = [];
  for (const [index, insert] of inserts.entries()) {
    const piece = insert instanceof Sql ? insert : new Sql(['', ''], [insert]);
    const [head = '', ...tail] = piece.texts;
    texts.push(texts.pop() + head, ...tail);
    values.push(...piece.values);
    texts.push(texts.pop() + (strings[index + 1] ?? ''));
  }
  return new Sql(texts, values);
}

/** For SQL written in this code base only, never for input. */
export function literal(text: string): Sql {
  return new Sql([text], []);
}

/** `WHERE` with all conditions that are present, or nothing. */
export function where(conditions: readonly (Sql | undefined)[]): Sql {
  const present = conditions.filter((condition) => condition !== undefined);
  return present.reduce(
    (text, condition, index) => sql`${text}${literal(index === 0 ? ' WHERE ' : ' AND ')}${condition}`,
    literal(''),
  );
}

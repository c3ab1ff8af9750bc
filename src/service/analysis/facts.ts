import { z } from 'zod';

const Line = z.int().nonnegative().nullable();
const Name = z.string().max(400);

/** What the analyzer reports about code. It comes from a session that has read hostile text, so it is validated. */
export const Facts = z.strictObject({
  syntax: z.array(z.strictObject({ line: Line, message: z.string().max(1000) })).max(10),
  python: z.string().max(50),
  imports: z.array(z.strictObject({ name: Name, line: Line })).max(3000),
  uses: z
    .array(
      z.strictObject({
        name: Name,
        line: Line,
        how: z.enum(['called', 'mentioned', 'stored']),
        mode: z.string().max(50).optional(),
        bare: z.boolean().optional(),
        given: z.array(z.string().max(50)).max(10).optional(),
        text: z.enum(['plain', 'calls', 'unknown']).optional(),
      }),
    )
    .max(3000),
  dynamic: z.array(z.strictObject({ name: Name, line: Line })).max(3000),
  results: z.enum(['dict', 'unknown', 'other', 'none']),
  isTruncated: z.boolean(),
});
export type Facts = Readonly<z.infer<typeof Facts>>;

/** A name that the code calls, mentions or assigns to, as Python resolves it: `epics.caput`, `epics.PV().put`, `?.put`. */
export type Use = Facts['uses'][number];

/** The facts about code that cannot be analyzed: only the reason. */
export function unanalyzable(line: number | null, message: string): Facts {
  const nothing = { python: '', imports: [], uses: [], dynamic: [], results: 'none', isTruncated: false } as const;
  return { ...nothing, imports: [], uses: [], dynamic: [], syntax: [{ line, message }] };
}

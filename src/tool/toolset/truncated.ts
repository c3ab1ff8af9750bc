import type { Json } from '../../execution/execution.ts';

/** A part of a value that is not whole; see docs/values.md. */
export type CutPart = Readonly<Record<string, Json>>;

/** The first part of a value that is not whole. */
export function findTruncated(value: Json): CutPart | undefined {
  const pending: Json[] = [value];
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (typeof part !== 'object' || part === null) continue;
    if (!Array.isArray(part) && (part as CutPart)['_type'] === 'truncated') return part as CutPart;
    for (const inner of Object.values(part) as readonly Json[]) if (typeof inner === 'object') pending.push(inner);
  }
  return undefined;
}

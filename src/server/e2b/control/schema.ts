/** What E2B's SDKs send to the control plane. */
import { z } from 'zod';
import { Variables } from '../../../config.ts';
import { UnsupportedFeature } from './unsupported.ts';

/** E2B's own default. */
const DEFAULT_SECONDS = 300;
const MAX_SECONDS = 24 * 3600;

export const TimeoutBody = z.object({ timeout: z.int().nonnegative().max(MAX_SECONDS) });
export const ConnectBody = z.object({
  timeout: z.int().nonnegative().max(MAX_SECONDS).default(DEFAULT_SECONDS),
  memory: z.boolean().optional(),
});

/** Keys that another version of the SDK sends are refused: what they ask for would be missing without a word. */
export const NewSandboxBody = z.strictObject({
  templateID: z.string().max(500),
  timeout: z.int().nonnegative().max(MAX_SECONDS).default(DEFAULT_SECONDS),
  metadata: z.record(z.string().max(500), z.string().max(5000)).nullish(),
  envVars: Variables.nullish(),
  allow_internet_access: z.boolean().optional(),
  /** All requests into a sandbox need its token anyway. */
  secure: z.boolean().optional(),
  network: z.looseObject({ allowPublicTraffic: z.boolean().optional() }).optional(),
  autoPause: z.boolean().optional(),
  autoPauseMemory: z.boolean().optional(),
  autoResume: z.looseObject({ enabled: z.boolean().optional() }).optional(),
  mcp: z.unknown().optional(),
  iam: z.unknown().optional(),
  volumeMounts: z.array(z.unknown()).nullish(),
});
export type NewSandboxBody = z.infer<typeof NewSandboxBody>;

/** Refuses what a sandbox here cannot have. */
export function refuseUnsupported(body: NewSandboxBody): void {
  if (body.autoPause === true || body.autoResume?.enabled === true) throw new UnsupportedFeature('Pausing sandboxes');
  if (body.mcp !== undefined && body.mcp !== null) throw new UnsupportedFeature('The MCP gateway');
  if (body.iam !== undefined) throw new UnsupportedFeature('Workload identity');
  if ((body.volumeMounts ?? []).length > 0) throw new UnsupportedFeature('Volumes');
  const { allowPublicTraffic: _, ...rules } = body.network ?? {};
  if (Object.keys(rules).length > 0) {
    throw new UnsupportedFeature('Network rules of a sandbox', 'The server decides what its sandboxes reach.');
  }
}

/** What a list is asked for. */
export const ListQuery = z.object({
  metadata: z.string().optional(),
  state: z.string().optional(),
  startedAfter: z.iso.datetime({ offset: true }).optional(),
  template: z.string().optional(),
  order: z.enum(['asc', 'desc']).default('desc'),
  limit: z.coerce.number().int().min(1).max(100).default(100),
  nextToken: z.string().optional(),
});
export type ListQuery = z.infer<typeof ListQuery>;

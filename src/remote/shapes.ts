/** Answers of a server of which a client reads less than it is sent, or more than it must be sent. */
import { z } from 'zod';
import { Limits } from '../config.ts';
import { isLibrarySet } from '../environment/library-sets.ts';
import type { Environment } from '../environment/environment.ts';
import type { HostAccess } from '../host/host.ts';
import type { Notebook } from '../notebook/nbformat.ts';
import { ArtifactSchema } from '../wire/artifact.ts';
import { IsolationSchema } from '../wire/session.ts';

/** Newer servers may have limits that this version lacks. */
const KnownLimits = z.object(Limits.shape);

const AccessShape = z.object({
  mounts: z.array(z.object({ source: z.string().default(''), target: z.string(), writable: z.boolean() })),
  network: z.union([
    z.boolean(),
    z.object({ allow: z.array(z.string()), deny: z.array(z.string()), log: z.boolean() }),
  ]),
  env: z.record(z.string(), z.string()),
  packages: z.union([z.enum(['none', 'any']), z.array(z.string())]),
}) satisfies z.ZodType<HostAccess>;

const EnvironmentShape = z
  .object({
    version: z.string(),
    libraries: z.record(z.string(), z.string()),
    missing: z.array(z.string()),
    name: z.string().optional(),
    set: z.string().optional(),
    python: z.string().default(''),
    cacheDir: z.string().default(''),
  })
  .transform(
    // What can be done about a missing library here cannot be done about one there.
    ({ set, ...facts }): Environment => ({
      ...facts,
      ...(set !== undefined && isLibrarySet(set) && { set }),
      source: 'remote',
    }),
  );

export const HostShape = z.object({
  environment: EnvironmentShape,
  limits: KnownLimits,
  access: AccessShape,
  isolation: IsolationSchema,
  /** Null for those who may ask for anything. */
  ceiling: z.object({ limits: KnownLimits }).nullable().default(null),
});
/** A host as a server describes it. */
export type HostFacts = Readonly<z.infer<typeof HostShape>>;

export const ArtifactsShape = z.object({ artifacts: z.array(ArtifactSchema) });

/** The cells are not looked at. */
export const NotebookShape = z.looseObject({
  nbformat: z.literal(4),
  nbformat_minor: z.literal(5),
  metadata: z.looseObject({}),
  cells: z.array(z.looseObject({})),
}) as unknown as z.ZodType<Notebook>;

/** JSON Schemas of everything on the wire, for OpenAPI and for clients in other languages. */
import { z } from 'zod';
import { ApprovalPayloadSchema, ApprovalSchema, DecisionSchema } from './approval.ts';
import { ArtifactSchema, FileFactsSchema, FileListSchema } from './artifact.ts';
import { ErrorSchema } from './error.ts';
import { EventSchema } from './event.ts';
import { ExecutionSchema } from './execution.ts';
import {
  HostOptionsSchema,
  KeyOptionsSchema,
  OnceOptionsSchema,
  RunOptionsSchema,
  SessionOptionsSchema,
  TableOptionsSchema,
} from './options.ts';
import { CompletionSchema, RollbackSchema, SessionInfoSchema, VariableSchema } from './session.ts';

/** Everything that is sent by itself. Schemas that these refer to are included. */
const ROOTS = [
  ExecutionSchema,
  EventSchema,
  SessionInfoSchema,
  VariableSchema,
  CompletionSchema,
  RollbackSchema,
  ArtifactSchema,
  FileFactsSchema,
  FileListSchema,
  ApprovalSchema,
  ApprovalPayloadSchema,
  DecisionSchema,
  ErrorSchema,
  RunOptionsSchema,
  KeyOptionsSchema,
  SessionOptionsSchema,
  OnceOptionsSchema,
  HostOptionsSchema,
  TableOptionsSchema,
];

export type Component = z.core.JSONSchema.BaseSchema;

/**
 * `components.schemas` of an OpenAPI 3.1 document: JSON Schema 2020-12 by id, with references between them. `more` are
 * sent by themselves, too.
 */
export function componentSchemas(more: readonly z.ZodType[] = []): Readonly<Record<string, Component>> {
  const { $defs = {} } = z.toJSONSchema(z.union([...ROOTS, ...more]), {
    io: 'input', // what is on the wire, where dates are text
    override: ({ jsonSchema }) => {
      // Zod spells out what `integer` and `date-time` say already.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      // Python's validators refuse a schema that has a pattern with Unicode classes.
      if (jsonSchema.pattern?.includes(String.raw`\p{`)) delete jsonSchema.pattern;
    },
  });
  return JSON.parse(JSON.stringify($defs), toComponentReference) as Readonly<Record<string, Component>>;
}

function toComponentReference(key: string, value: unknown): unknown {
  return key === '$ref' && typeof value === 'string' ? value.replace('#/$defs/', '#/components/schemas/') : value;
}

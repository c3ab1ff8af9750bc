/** The wire as JSON Schema, for OpenAPI and for clients in other languages. */
import { z } from 'zod';
import { ApprovalPayloadSchema, ApprovalSchema, DecisionSchema } from './approval.ts';
import { ArtifactSchema } from './artifact.ts';
import { ErrorSchema } from './error.ts';
import { EventSchema } from './event.ts';
import { ExecutionSchema } from './execution.ts';
import {
  HostOptionsSchema,
  KeyOptionsSchema,
  OnceOptionsSchema,
  RunOptionsSchema,
  SessionOptionsSchema,
} from './options.ts';
import { RollbackSchema, SessionInfoSchema, VariableSchema } from './session.ts';

/** Everything that is sent by itself. Their parts come along. */
const ROOTS = [
  ExecutionSchema,
  EventSchema,
  SessionInfoSchema,
  VariableSchema,
  RollbackSchema,
  ArtifactSchema,
  ApprovalSchema,
  ApprovalPayloadSchema,
  DecisionSchema,
  ErrorSchema,
  RunOptionsSchema,
  KeyOptionsSchema,
  SessionOptionsSchema,
  OnceOptionsSchema,
  HostOptionsSchema,
];

export type Component = z.core.JSONSchema.BaseSchema;

/** `components.schemas` of an OpenAPI 3.1 document: JSON Schema 2020-12 by id, with references between them. */
export function componentSchemas(): Readonly<Record<string, Component>> {
  const { $defs = {} } = z.toJSONSchema(z.union(ROOTS), {
    io: 'input', // as it is on the wire: dates are text, and what has a default may be left out
    override: ({ jsonSchema }) => {
      // Zod spells out what `integer` and `date-time` say already.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      // Not every language has classes of Unicode in its patterns: Python's validators refuse the whole schema.
      if (jsonSchema.pattern?.includes(String.raw`\p{`)) delete jsonSchema.pattern;
    },
  });
  return JSON.parse(JSON.stringify($defs), toComponentReference) as Readonly<Record<string, Component>>;
}

function toComponentReference(key: string, value: unknown): unknown {
  return key === '$ref' && typeof value === 'string' ? value.replace('#/$defs/', '#/components/schemas/') : value;
}

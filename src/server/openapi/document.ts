import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../../errors.ts';
import { componentSchemas } from '../../wire/components.ts';
import { ErrorSchema } from '../../wire/error.ts';
import type { Operation, OtherContent, RequestHeader } from './operation.ts';
import { OPERATIONS } from './operations.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What any request can meet. */
const ALWAYS: readonly ErrorCode[] = ['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED', 'SERVER_CLOSING'];
const PUBLIC = new Set(['/health', '/openapi.json', '/docs']);

const HEADERS: Readonly<Record<RequestHeader, JsonObject>> = {
  'Idempotency-Key': {
    description: 'The same key and body never run code twice; the answer is that of the first request.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
  },
  'Last-Event-ID': {
    description: 'The number of the last event that was seen. Events after it follow.',
    schema: { type: 'string', pattern: String.raw`^\d{1,15}$` },
  },
  Range: { description: 'A part of the content, such as `bytes=0-99`.', schema: { type: 'string' } },
};

const INFO = {
  title: 'Vivarium',
  license: { name: 'MIT', identifier: 'MIT' },
  description:
    'Python sessions that keep their state, even when the code crashes. What a program does is a result, with status ' +
    '200; an error is a mistake of the caller or a failure of the server.',
};

/** The OpenAPI 3.1 document of the server. */
export function openApiDocument(version: string): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const operation of OPERATIONS) {
    (paths[operation.path] ??= {})[operation.method] = describe(operation);
  }
  return {
    openapi: '3.1.0',
    info: { ...INFO, version },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { key: [] }],
    tags: [...new Set(OPERATIONS.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: componentSchemas(OPERATIONS.flatMap(schemasOf)),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A key of the server, if it has any.' },
        key: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The same.' },
      },
    },
  };
}

function schemasOf({ body, answer, events, otherwise }: Operation): z.ZodType[] {
  return [body, answer, events, otherwise?.answer].filter((one): one is z.ZodType => one instanceof z.ZodType);
}

function describe(operation: Operation): JsonObject {
  const { id, tag, summary, body, isBodyOptional = false, path } = operation;
  const parameters = [...pathParameters(path), ...queryParameters(operation), ...headerParameters(operation)];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(PUBLIC.has(path) && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: !isBodyOptional, content: contentOf(body) } }),
    responses: { ...answersOf(operation), ...errorsOf(operation) },
  };
}

function pathParameters(path: string): JsonObject[] {
  return Array.from(path.matchAll(/\{(?<name>\w+)\}/g), ({ groups }) => ({
    name: groups?.['name'],
    in: 'path',
    required: true,
    description: groups?.['name'] === 'path' ? 'The path in the workspace; its parts are separated by `/`.' : 'Its id.',
    schema: { type: 'string', minLength: 1 },
  }));
}

function queryParameters({ query }: Operation): JsonObject[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: 'input' });
  return Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = typeof schema === 'object' ? schema : {};
    return { name, in: 'query', required: required.includes(name), ...(description && { description }), schema: rest };
  });
}

function headerParameters({ headers = [] }: Operation): JsonObject[] {
  return headers.map((name) => ({ name, in: 'header', required: false, ...HEADERS[name] }));
}

function answersOf({ status, answer, events, isStream, otherwise, names }: Operation): JsonObject {
  const headers = names && {
    headers: { [names]: { description: 'The id of what was begun.', schema: { type: 'string' } } },
  };
  const content = {
    ...(answer !== undefined && contentOf(answer)),
    ...(events !== undefined && { 'text/event-stream': { schema: eventOf(events) } }),
  };
  const hasContent = Object.keys(content).length > 0;
  const description = isStream === true ? 'A stream of events.' : hasContent ? 'The answer.' : 'Done.';
  return {
    [status]: { description, ...headers, ...(hasContent && { content }) },
    ...(otherwise && {
      [otherwise.status]: {
        description: otherwise.status === 206 ? 'The part that was asked for.' : 'It has been started.',
        ...headers,
        content: contentOf(otherwise.answer),
      },
    }),
  };
}

/** One event of a stream: its number, its type, and its data, which is JSON. */
function eventOf(events: z.ZodType): JsonObject {
  const contentSchema = { anyOf: [referenceTo(events), referenceTo(ErrorSchema)] };
  return {
    type: 'object',
    properties: {
      id: { type: 'string' },
      event: { type: 'string' },
      data: { type: 'string', contentMediaType: 'application/json', contentSchema },
    },
    required: ['id', 'event', 'data'],
  };
}

/** By status. Several codes can have the same. */
function errorsOf({ errors = [], body, headers = [], path }: Operation): JsonObject {
  const isPublic = PUBLIC.has(path);
  const codes = new Set<ErrorCode>([...(isPublic ? ['FORBIDDEN' as const] : ALWAYS), ...errors]);
  const statuses = new Map<number, Set<ErrorCode>>();
  const add = (status: number, code: ErrorCode): void =>
    void statuses.set(status, (statuses.get(status) ?? new Set()).add(code));
  for (const code of codes) add(ERROR_CODES[code].status, code);
  add(421, 'FORBIDDEN');
  add(400, 'REQUEST_INVALID');
  add(400, 'CONFIG_INVALID');
  if (body instanceof z.ZodType) {
    add(413, 'REQUEST_TOO_LARGE');
    add(415, 'REQUEST_INVALID');
  }
  if (headers.includes('Range')) add(416, 'REQUEST_INVALID');
  if (!isPublic) for (const code of ['ENGINE_FAILED', 'ENGINE_CLOSED', 'STORAGE_FAILED'] as const) add(503, code);
  add(500, 'ENGINE_FAILED');
  return Object.fromEntries(
    [...statuses].map(([status, found]) => [
      status,
      { description: [...found].map((code) => `\`${code}\``).join(', '), content: contentOf(ErrorSchema) },
    ]),
  );
}

function contentOf(content: z.ZodType | OtherContent): JsonObject {
  if (content instanceof z.ZodType) return { 'application/json': { schema: referenceTo(content) } };
  return {
    [content.mime]: { schema: { type: 'string', ...(content.mime.startsWith('text/') ? {} : { format: 'binary' }) } },
  };
}

function referenceTo(schema: z.ZodType): JsonObject {
  const { id } = schema.meta() ?? {};
  if (typeof id !== 'string') throw new TypeError('a schema of the wire has no id');
  return { $ref: `#/components/schemas/${id}` };
}

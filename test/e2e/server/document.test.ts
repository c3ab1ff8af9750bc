/** The OpenAPI document says what the server does. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../src/errors.ts';
import { openApiDocument } from '../../../src/server/openapi/document.ts';
import { OPERATIONS } from '../../../src/server/openapi/operations.ts';
import { docsPage, PAGE_POLICY } from '../../../src/server/openapi/page.ts';
import { createApp } from '../../../src/server/app.ts';
import { controlRoutes } from '../../../src/server/e2b/control/routes.ts';
import type { Sandboxes } from '../../../src/server/e2b/sandbox/sandboxes.ts';
import type { ServerParts } from '../../../src/server/parts/parts.ts';
import { serve, type Served } from './served.ts';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface Described {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

const document = openApiDocument('1.2.3') as unknown as Document;

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(() => served[Symbol.asyncDispose]());

test('every route is an operation, and every operation is a route', () => {
  const parts = { host: { isolation: { network: 'none' } } } as unknown as ServerParts; // routes are only declared
  const sandboxes = {} as unknown as Sandboxes;
  const ofE2b = new Set(controlRoutes(sandboxes).routes.map(({ method, path }) => `${method} ${path}`));
  const routes = createApp(parts, sandboxes)
    .routes.filter(({ method, path }) => method !== 'ALL' && !ofE2b.has(`${method} ${path}`))
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}').replace('/*', '/{path}')}`);
  const operations = OPERATIONS.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  expect(new Set(operations)).toEqual(new Set(routes));
  expect(operations).toHaveLength(new Set(operations).size);
});

test('ids are unique, and every reference leads to a schema', () => {
  const ids = OPERATIONS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
    ([, name]) => name ?? '',
  );
  expect(references.length).toBeGreaterThan(100);
  for (const name of references) expect(document.components.schemas).toHaveProperty(name);
});

test('every operation tells its errors, each with the status of its code', () => {
  for (const { errors = [], method, path } of OPERATIONS) {
    for (const code of errors) {
      const described = document.paths[path]?.[method]?.responses[ERROR_CODES[code].status];
      expect(JSON.stringify(described)).toContain(`\`${code}\``);
    }
  }
});

test('the server serves the document, and the page shows it without help from elsewhere', async () => {
  const answer = await served.ask('GET', '/openapi.json');
  expect(answer.body).toMatchObject({ openapi: '3.1.0', info: { version: '0.1.0' }, paths: { '/v1/sessions': {} } });
  const page = await served.ask('GET', '/docs');
  expect(page.headers.get('content-security-policy')).toBe(PAGE_POLICY);
  expect(PAGE_POLICY).toContain("default-src 'none'");
  expect(page.body).toBe(docsPage());
  expect(docsPage()).not.toMatch(/https?:\/\//);
  expect(docsPage()).not.toMatch(/innerHTML|eval\(/);
});

test('the script of the page is valid', () => {
  const [, script = ''] = /<script type="module">(.*)<\/script>/s.exec(docsPage()) ?? [];
  // oxlint-disable-next-line no-implied-eval -- it is only parsed
  expect(() => new Function(`return async () => { ${script} }`)).not.toThrow();
});

test('what is not there is told in the same way as every error', async () => {
  expect(await served.ask('GET', '/v1/nothing')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  expect(await served.ask('DELETE', '/v1/runs')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
});

import { expect, test } from 'vitest';
import { ENVD_PORT, findTarget } from './target.ts';

const ID = 'abcdefghij0123456789';

test.each([
  ['headers', { 'e2b-sandbox-id': ID, 'e2b-sandbox-port': '49999' }, { sandboxId: ID, port: 49_999 }],
  ['the header of a sandbox alone', { 'e2b-sandbox-id': ID }, { sandboxId: ID, port: ENVD_PORT }],
  ['the name of the host', { host: `49983-${ID}.example.com` }, { sandboxId: ID, port: 49_983 }],
  ['its name with a port, in capitals', { host: `3000-${ID.toUpperCase()}.LOCAL:80` }, { sandboxId: ID, port: 3000 }],
  ['headers before the name', { 'e2b-sandbox-id': 'x', host: `1-${ID}.a` }, { sandboxId: 'x', port: ENVD_PORT }],
])('a sandbox is found by %s', (_, headers, target) => {
  expect(findTarget(headers)).toEqual(target);
});

test.each([
  [{}],
  [{ host: 'api.example.com' }],
  [{ host: '127.0.0.1:8000' }],
  [{ host: '49983-short.example.com' }],
  [{ host: `${ID}.example.com` }],
])('%j is for no sandbox', (headers) => {
  expect(findTarget(headers)).toBeNull();
});

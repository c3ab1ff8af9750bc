/** Requests that nobody sends by accident: raw bytes, and what is done with the connection afterwards. */
import type { Generator } from '../../support/generated.ts';

export interface Hostile {
  readonly kind: string;
  /** Sent one after the other; a number is a pause in milliseconds. */
  readonly parts: readonly (string | Buffer | number)[];
  /** What the client does ending: wait for an answer, close its side, reset the connection, or leave it as it is. */
  readonly ending: 'wait' | 'close' | 'reset' | 'leave';
}

/** What a hostile client knows: the address, a key of its own perhaps, and ids of others that it has guessed. */
export interface Known {
  readonly host: string;
  readonly key: string;
  readonly session: string;
}

const CRLF = '\r\n';
const PATHS = [
  '/..%2f..%2f..%2fetc/passwd',
  '/v1/../../etc/passwd',
  '/v1/sessions/..%2f..',
  '/v1/sessions/%00',
  '/v1/sessions/%',
  '/v1/sessions/%zz',
  '/v1/sessions/%c0%ae%c0%ae',
  '/v1//sessions',
  '//evil.example/v1/sessions',
  '/v1/sessions/SESSION/files/../../../../etc/passwd',
  '/v1/sessions/SESSION/files/..%2f..%2f..%2f..%2fetc%2fpasswd',
  '/v1/sessions/SESSION/files/%2e%2e/%2e%2e/keys.sqlite',
  '/v1/sessions/SESSION/files//etc/passwd',
  '/v1/sessions/SESSION/files/..\\..\\keys.sqlite',
  '/v1/sessions/SESSION/files/%00',
  '/v1/sessions/SESSION/files/',
  '/v1/sessions/SESSION/files/a%0d%0aX-Evil:%201',
  '/v1/sessions/SESSION/notebook?__proto__[a]=1&constructor=2',
  '/v1/artifacts/..%2f..%2fkeys.sqlite/content',
  '/v1/artifacts?sessionId=%00',
  '/v1/runs/../sessions',
  '/v1/runs/__proto__',
  '/v1/tools/constructor',
  '/.env',
  '/docs/../keys.sqlite',
  `/${'a/'.repeat(3000)}`,
  `/v1/sessions/${'%2e'.repeat(3000)}`,
  `/v1/sessions?${'clientId=a&'.repeat(1000)}`,
  'http://evil.example/v1/sessions',
  'v1/sessions',
  '*',
  '',
];
const HOSTS = [
  'evil.example',
  '127.0.0.1.evil.example',
  '0.0.0.0',
  '',
  '127.0.0.1, evil.example',
  'localhost@evil.example',
];
const JSONS = [
  '',
  '{',
  '{"code": ',
  '{"code": "1"',
  '[]',
  'null',
  '"text"',
  '1e999',
  'NaN',
  '{"code": 1}',
  '{"code": {"toString": 1}}',
  '{"code": "1", "__proto__": {"isAdmin": true}}',
  '{"code": "1", "constructor": {"prototype": {}}}',
  '{"code": "1", "code": 2}',
  '{"code": "1", "unknown": true}',
  '{"code": "1", "timeoutMs": -1}',
  '{"code": "1", "timeoutMs": 1e300}',
  '{"code": "1", "filename": "a\\u0000b"}',
  '{"code": "\\ud800"}',
  '{"clientId": "somebody"}',
  '{"mounts": [{"source": "/", "target": "/x", "writable": true}]}',
  '{"network": true, "packages": "any"}',
  '\uFEFF{"code": "1"}',
  Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from('{"code":"1"}', 'utf16le'),
];
const JSON_ROUTES = [
  '/v1/sessions',
  '/v1/runs',
  '/v1/runs/once',
  '/v1/sessions/SESSION/runs',
  '/v1/sessions/SESSION/commands',
];

type Make = (g: Generator, known: Known) => Omit<Hostile, 'kind'>;

/** One maker for each kind. */
export const KINDS: Readonly<Record<string, Make>> = {
  'huge headers': (g, known) => {
    const size = g.pick([16_000, 17_000, 70_000, 1_000_000]);
    const header = g.pick([
      `X-Huge: ${'x'.repeat(size)}`,
      'X: y\r\n'.repeat(size / 5),
      `${'x'.repeat(size)}: 1`,
      `Cookie: ${'a=b; '.repeat(size / 5)}`,
    ]);
    return { parts: [head(known, 'GET', '/v1/sessions', [header.trimEnd()])], ending: 'wait' };
  },
  'chunked nonsense': (g, known) => {
    const chunk = g.pick([
      'zz\r\nabc\r\n0\r\n\r\n',
      '-1\r\na\r\n0\r\n\r\n',
      'ffffffffffffffff\r\n',
      'fffffffffffffffff\r\n',
      '0x5\r\nhello\r\n0\r\n\r\n',
      '5\nhello\n0\n\n',
      '5;ext="\r\nhello\r\n0\r\n\r\n',
      `5;${'x'.repeat(40_000)}\r\nhello\r\n0\r\n\r\n`,
      '5\r\nhelloX\r\n0\r\n\r\n',
      `0\r\n${'Trailer: x\r\n'.repeat(5000)}\r\n`,
      '1\r\na\r\n'.repeat(3000),
      '\r\n\r\n\r\n',
      '5\r\nhel',
    ]);
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
    return {
      parts: [head(known, 'POST', g.pick(JSON_ROUTES), headers), chunk],
      ending: g.pick(['close', 'reset', 'close']),
    };
  },
  'half-open': (g, known) => {
    const whole = head(known, 'POST', '/v1/runs/once', ['Content-Type: application/json', 'Content-Length: 100000']);
    const sent = g.pick(['', 'G', whole.slice(0, g.number(whole.length)), `${whole}{"code": "`]);
    return { parts: sent === '' ? [] : [sent], ending: g.pick(['close', 'reset', 'leave']) };
  },
  'wrong JSON': (g, known) => withBody(g, known, g.pick(JSONS)),
  'deep JSON': (g, known) => {
    const depth = g.pick([1000, 100_000, 1_000_000]);
    const text = g.pick([
      '['.repeat(depth),
      '{"a":'.repeat(depth),
      `{"code":${'['.repeat(depth)}${']'.repeat(depth)}}`,
      `{"limits":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`,
      `[${'{},'.repeat(depth)}{}]`,
      `{${Array.from({ length: depth / 20 }, (_, index) => `"k${index}":0`).join(',')}}`,
    ]);
    return withBody(g, known, text);
  },
  'path tricks': (g, known) => {
    const method = g.pick(['GET', 'GET', 'PUT', 'DELETE', 'POST', 'HEAD']);
    return { parts: [head(known, method, g.pick(PATHS), ['Content-Length: 0'])], ending: 'wait' };
  },
  'wrong Host and Origin': (g, known) => {
    const lines = g.pick([
      [`Host: ${g.pick(HOSTS)}`],
      [`Host: ${known.host}`, `Host: ${g.pick(HOSTS)}`],
      [`Host: ${g.pick(HOSTS)}`, `Host: ${known.host}`],
      [
        `Host: ${known.host}`,
        `Origin: ${g.pick(['null', 'http://evil.example', 'http://127.0.0.1', 'x'.repeat(8000)])}`,
      ],
      [`Host: ${known.host}`, 'Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'],
      [],
    ]);
    const where = g.pick(['/v1/sessions', '/health', '/docs', '/v1/host']);
    const start = `${g.pick(['GET', 'POST', 'OPTIONS'])} ${where} HTTP/1.${g.pick(['0', '1'])}`;
    return {
      parts: [[start, ...lines, `X-API-Key: ${known.key}`, 'Content-Length: 0', '', ''].join(CRLF)],
      ending: 'wait',
    };
  },
  smuggling: (g, known) => {
    const inner = `GET /v1/sessions HTTP/1.1\r\nHost: ${known.host}\r\n\r\n`;
    const shape = g.pick([
      ['Content-Length: 4', 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: chunked', 'Content-Length: 4'],
      ['Transfer-Encoding: xchunked'],
      ['Transfer-Encoding: chunked, identity'],
      ['Transfer-Encoding: identity, chunked, chunked'],
      ['Transfer-Encoding:\tchunked'],
      ['Transfer-Encoding : chunked'],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
      [' Transfer-Encoding: chunked'],
      ['X: y\nTransfer-Encoding: chunked'],
      ['X: y\rTransfer-Encoding: chunked'],
      ['Content-Length: 4', 'Content-Length: 40'],
      ['Content-Length: 4, 4'],
      ['Content-Length: +4'],
      ['Content-Length: 0x4'],
      ['Content-Length: 4 4'],
      ['Content-Length: 99999999999999999999'],
      ['Content-Length: 4', 'Expect: 100-continue'],
      ['Content-Length: 4', 'Expect: nonsense'],
      ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'],
      ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'],
    ]);
    const start = head(known, 'POST', g.pick(JSON_ROUTES), ['Content-Type: application/json', ...shape]);
    return { parts: [start, '0\r\n\r\n', inner], ending: 'close' };
  },
  'slow loris': (g, known) => {
    const whole = g.pick([
      head(known, 'GET', '/v1/sessions', []).slice(0, -2),
      `${head(known, 'POST', '/v1/sessions', ['Content-Type: application/json', 'Content-Length: 50'])}{`,
    ]);
    const drops = Array.from({ length: 12 }, (_, index) => [150, g.pick([`X-${index}: 1\r\n`, ' '])]).flat();
    return { parts: [whole, ...drops], ending: 'leave' };
  },
  'strange requests': (g, known) => {
    const method = g.pick(['TRACE', 'PATCH', 'PROPFIND', 'OPTIONS', 'CONNECT', 'BREW', 'get', 'M-SEARCH', 'GET']);
    const header = g.pick([
      `Range: bytes=${'0-0,'.repeat(2000)}0-1`,
      'Range: bytes=-0',
      'Range: bytes=99999999999999999999-',
      'Last-Event-ID: -1',
      `Last-Event-ID: ${'9'.repeat(4000)}`,
      `Idempotency-Key: ${'k'.repeat(300)}`,
      'Idempotency-Key: \u00FF\u0001',
      'Content-Encoding: gzip',
      `Accept: ${'text/event-stream,'.repeat(500)}`,
      `Authorization: Bearer ${'vvm_'.repeat(3000)}`,
      'Authorization: Basic ====',
      'Cookie: key=vvm_x',
      'X-Forwarded-For: 127.0.0.1',
      'X-HTTP-Method-Override: DELETE',
      'E2b-Sandbox-Id: ../../etc',
      'E2b-Sandbox-Port: -1',
    ]);
    const where = g.pick([
      '/v1/sessions',
      '/v1/sessions/SESSION/files/x',
      '/v1/runs/x/events',
      '/metrics',
      '/execute',
      '/files',
    ]);
    return {
      parts: [Buffer.from(head(known, method, where, [header, 'Content-Length: 0']), 'latin1')],
      ending: 'wait',
    };
  },
  'not HTTP': (g) => {
    const bytes = Buffer.from(Array.from({ length: 1 + g.number(400) }, () => g.number(256)));
    return {
      parts: [
        g.pick([
          bytes,
          '\r\n'.repeat(20_000),
          '\x16\x03\x01\x02\x00\x01\x00',
          'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
          '\0'.repeat(5000),
        ]),
      ],
      ending: 'close',
    };
  },
  'many at once': (g, known) => {
    const one = head(known, 'GET', g.pick(['/health', '/v1/sessions', '/nothing']), []);
    return { parts: [one.repeat(g.pick([10, 200]))], ending: g.pick(['close', 'reset', 'leave']) };
  },
};

export function makeHostile(g: Generator, known: Known): Hostile {
  const kind = g.pick(Object.keys(KINDS));
  const key = g.pick([known.key, known.key, 'vvm_wrong', '']);
  const made = KINDS[kind]?.(g, { ...known, key });
  if (made === undefined) throw new Error(`there is no kind ${kind}`);
  return { kind, ...made };
}

function head(known: Known, method: string, where: string, headers: readonly string[]): string {
  const start = `${method} ${where.replace('SESSION', known.session)} HTTP/1.1`;
  const credentials = known.key === '' ? [] : [`Authorization: Bearer ${known.key}`];
  return [start, `Host: ${known.host}`, ...credentials, ...headers, '', ''].join(CRLF);
}

function withBody(g: Generator, known: Known, body: string | Buffer): Omit<Hostile, 'kind'> {
  const bytes = Buffer.from(body);
  const type = g.pick([
    'application/json',
    'application/json',
    'application/json; charset=utf-16',
    'text/plain',
    'multipart/form-data',
  ]);
  const headers = [`Content-Type: ${type}`, `Content-Length: ${bytes.length}`];
  return { parts: [head(known, 'POST', g.pick(JSON_ROUTES), headers), bytes], ending: 'wait' };
}

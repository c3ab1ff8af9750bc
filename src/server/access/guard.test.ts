import { expect, test } from 'vitest';
import { inspectArrival, type Arrival } from './guard.ts';

const NAMES = { hosts: ['vivarium.example.com', '192.0.2.7'], domains: ['sandbox.example.com'] };
const USUAL: Arrival = { target: '/v1/sessions', host: '127.0.0.1:8000', isPublic: false };

function statusOf(arrival: Partial<Arrival>): number {
  try {
    inspectArrival({ ...USUAL, ...arrival }, NAMES);
    return 200;
  } catch (error) {
    return Number((error as { status?: number }).status);
  }
}

test.for([
  '127.0.0.1',
  '127.0.0.1:8000',
  'localhost:1',
  'LOCALHOST:8000',
  'localhost.:8000',
  '[::1]:8000',
  'vivarium.example.com',
  'Vivarium.Example.com:443',
  '192.0.2.7:8000',
  'api.sandbox.example.com',
  '49999-abc.sandbox.example.com:8000',
])('%s is a name of the server', (host) => {
  expect(statusOf({ host })).toBe(200);
});

test.for([
  undefined,
  '',
  'evil.example',
  'evil.example:8000',
  '127.0.0.1.evil.example',
  'localhost.evil.example',
  'vivarium.example.com.evil.example',
  'notsandbox.example.com',
  'sandbox.example.com',
  '.sandbox.example.com',
  'evil.example/.sandbox.example.com',
  'user@127.0.0.1',
  '127.0.0.1:8000@evil.example',
  '127.0.0.1 evil.example',
  '127.0.0.1,evil.example',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0.0.0.0:8000',
  '[::1',
  '[::ffff:127.0.0.1]',
  '192.168.1.5:8000',
  '127.0.0.1:port',
  '127.0.0.1:',
])('%s is not, and is answered with 421', (host) => {
  expect(statusOf({ host })).toBe(421);
});

test('an address is a name of the server if the connection was made to it', () => {
  expect(statusOf({ host: '192.168.1.5:8000', localAddress: '192.168.1.5' })).toBe(200);
  expect(statusOf({ host: '192.168.1.5:8000', localAddress: '::ffff:192.168.1.5' })).toBe(200);
  expect(statusOf({ host: '[fd00::7]', localAddress: 'fd00::7' })).toBe(200);
  expect(statusOf({ host: '192.168.1.6:8000', localAddress: '192.168.1.5' })).toBe(421);
});

test('the refusal names what would be right, and the option that adds a name', () => {
  expect(() => inspectArrival({ ...USUAL, host: 'evil.example' }, NAMES)).toThrow(
    /"evil\.example".*127\.0\.0\.1, \[::1\], localhost, vivarium\.example\.com.*\*\.sandbox\.example\.com.*--public-host/,
  );
});

test.for([
  ['http://127.0.0.1:8000', '127.0.0.1:8000'],
  ['https://vivarium.example.com', 'vivarium.example.com'],
  ['https://vivarium.example.com', 'vivarium.example.com:443'],
  ['http://localhost', 'localhost:80'],
])('pages of %s may use the server at %s: they are its own', ([origin, host]) => {
  expect(statusOf({ origin, host })).toBe(200);
});

test.for([
  'http://evil.example',
  'http://127.0.0.1:3000', // another server of this machine
  'http://127.0.0.1',
  'http://localhost:8000', // another name is another origin
  'null',
  '',
  'file://',
  'chrome-extension://abc',
  'javascript://127.0.0.1:8000',
  'http://127.0.0.1:8000.evil.example',
  'http://127.0.0.1:8000@evil.example',
])('pages of %s may not, whatever they ask for', (origin) => {
  expect(statusOf({ origin })).toBe(403);
  expect(statusOf({ origin, isPublic: true })).toBe(403);
});

test('what a browser says comes from another site is refused, even without an Origin', () => {
  expect(statusOf({ fetchSite: 'cross-site' })).toBe(403);
  expect(statusOf({ fetchSite: 'same-site' })).toBe(403);
  expect(statusOf({ fetchSite: 'anything-new' })).toBe(403);
  expect(statusOf({ fetchSite: 'same-origin' })).toBe(200);
  expect(statusOf({ fetchSite: 'none' })).toBe(200); // typed, or from a bookmark
  expect(statusOf({ fetchSite: 'cross-site', isPublic: true })).toBe(200); // a link to /docs
});

test.for(['http://127.0.0.1:8000/v1/sessions', 'http://evil.example/', '*', '', 'v1/sessions'])(
  'the target %s is refused: only paths are',
  (target) => {
    expect(statusOf({ target })).toBe(400);
  },
);

import { expect, test } from 'vitest';
import { firstUncovered } from './network-cover.ts';

test.for([
  ['api.example.com', ['api.example.com']],
  ['API.example.com', ['api.example.com']],
  ['api.example.com:443', ['api.example.com']],
  ['api.example.com:8080', ['*.example.com:8080']],
  ['api.example.com', ['api.example.com:80', '*.example.com:443']],
  ['*.example.com', ['*.example.com']],
  ['*.deep.example.com', ['*.example.com']],
  ['anything.at.all', ['*']],
  ['*', ['*']],
  ['10.1.2.3', ['10.0.0.0/8']],
  ['10.1.0.0/16:5432', ['10.0.0.0/8:5432']],
  ['2001:db8::7', ['2001:db8::/32']],
] as const)('%s is covered by %s', ([asked, allowed]) => {
  expect(firstUncovered([asked], allowed)).toBeUndefined();
});

test.for([
  ['example.com', ['*.example.com']], // the wildcard means what is below
  ['*.example.com', ['api.example.com']],
  ['*', ['*.example.com']],
  ['badexample.com', ['*.example.com']],
  ['api.example.com.evil.org', ['*.example.com', 'api.example.com']],
  ['api.example.com:22', ['api.example.com']],
  ['api.example.com', ['api.example.com:443']], // without a port it means 80 as well
  ['10.1.2.3', ['*']], // names cover no addresses
  ['*', ['0.0.0.0/0']],
  ['10.0.0.0/7', ['10.0.0.0/8']],
  ['0.0.0.0/0', ['10.0.0.0/8']],
  ['11.0.0.1', ['10.0.0.0/8']],
  ['::ffff:10.0.0.1', ['10.0.0.0/8']],
  ['10.0.0.1', ['::/0']],
  ['http://api.example.com', ['*']], // not an entry at all
  ['api.example.com', []],
] as const)('%s is not covered by %s', ([asked, allowed]) => {
  expect(firstUncovered([asked], allowed)).toBe(asked);
});

test('the first host that is not covered is named', () => {
  expect(firstUncovered(['a.org', 'b.org', 'c.org'], ['a.org'])).toBe('b.org');
  expect(firstUncovered([], [])).toBeUndefined();
});

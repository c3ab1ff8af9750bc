import { expect, test } from 'vitest';
import { exactTargets, readNetworkEntry } from './list.ts';

const NAME = { isWildcard: false, network: null, ports: null };

test.for([
  ['api.example.com', { ...NAME, name: 'api.example.com' }],
  ['API.Example.com:8443', { ...NAME, name: 'api.example.com', ports: [8443] }],
  ['*.example.org:443', { name: 'example.org', isWildcard: true, network: null, ports: [443] }],
  ['*', { name: '', isWildcard: true, network: null, ports: null }],
  ['10.0.0.5:5432', { name: null, isWildcard: false, network: '10.0.0.5/32', ports: [5432] }],
  ['10.0.0.0/8', { name: null, isWildcard: false, network: '10.0.0.0/8', ports: null }],
  ['10.0.0.0/8:22', { name: null, isWildcard: false, network: '10.0.0.0/8', ports: [22] }],
  ['::1', { name: null, isWildcard: false, network: '::1/128', ports: null }],
  ['[::1]:5432', { name: null, isWildcard: false, network: '::1/128', ports: [5432] }],
  ['[fd00::/8]:443', { name: null, isWildcard: false, network: 'fd00::/8', ports: [443] }],
  ['localhost:80', { ...NAME, name: 'localhost', ports: [80] }],
] as const)('%s is an entry', ([text, expected]) => {
  expect(readNetworkEntry(text)).toEqual(expected);
});

test.for([
  ['', 'not a host name'],
  ['a.test:0', 'port'],
  ['a.test:65536', 'port'],
  ['a.test:http', 'port'],
  ['https://a.test/', 'scheme'],
  ['a.test/path', 'scheme'],
  ['user@a.test', 'scheme'],
  ['a.*.test', '"*" can only'],
  ['*a.test', '"*" can only'],
  ['**.test', '"*" can only'],
  ['127.1', 'usual form'],
  ['0x7f000001', 'usual form'],
  ['2130706433', 'usual form'],
  ['0177.0.0.1', 'usual form'],
  ['10.0.0.0/33', 'scheme'],
  ['::1%eth0', 'usual form'],
  ['münchen.example', 'ASCII'],
  ['a..test', 'not a host name'],
  ['-a.test', 'not a host name'],
] as const)('%s is refused: %s', ([text, words]) => {
  expect(readNetworkEntry(text)).toContain(words);
});

test('entries that name one host and its ports get listeners of their own, each once and not without end', () => {
  const entries = ['a.test', 'a.test:443', '*.b.test', '10.0.0.5:5432', '10.0.0.0/8:80', '[::1]:80', '*'].map(
    (text) => {
      const entry = readNetworkEntry(text);
      if (typeof entry === 'string') throw new Error(entry);
      return entry;
    },
  );
  expect(exactTargets(entries)).toEqual([
    { host: 'a.test', port: 80, isAddress: false },
    { host: 'a.test', port: 443, isAddress: false },
    { host: '10.0.0.5', port: 5432, isAddress: true },
  ]);
  const many = Array.from({ length: 500 }, (_, index) => ({ ...NAME, name: `h${index}.test` }));
  expect(exactTargets(many).length).toBeLessThanOrEqual(100);
});

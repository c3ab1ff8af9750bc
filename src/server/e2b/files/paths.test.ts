import { expect, test } from 'vitest';
import { placePath, toFull } from './paths.ts';

const PLACE = { home: '/srv/one/home', temporary: '/srv/one/tmp', trash: '/srv/one/trash' };

test.each([
  ['a.txt', '/home/user/a.txt', PLACE.home, ['a.txt']],
  ['./a//b/', '/home/user/a/b', PLACE.home, ['a', 'b']],
  ['~/a', '/home/user/a', PLACE.home, ['a']],
  ['~', '/home/user', PLACE.home, []],
  ['', '/home/user', PLACE.home, []],
  ['/home/user/a/../b', '/home/user/b', PLACE.home, ['b']],
  ['/tmp/x', '/tmp/x', PLACE.temporary, ['x']],
  ['/tmp', '/tmp', PLACE.temporary, []],
  ['../../tmp/x', '/tmp/x', PLACE.temporary, ['x']],
])('%j is %s', (given, full, root, names) => {
  expect(placePath(given, PLACE)).toEqual({ full, root, names });
});

test.each(['/', '/etc/passwd', '../other', '/home/users', '/home/user2/a', '/tmpx', '~root/a/../../../..', '/home'])(
  '%j cannot be reached',
  (given) => {
    expect(() => placePath(given, PLACE)).toThrow('cannot be reached');
  },
);

test('a directory to begin in may be any', () => {
  expect(toFull('/usr/lib/..')).toBe('/usr');
  expect(toFull('inner')).toBe('/home/user/inner');
});

import { expect, test } from 'vitest';
import { MountPoints } from './places.ts';

/** Two disks; a directory of the first is bound elsewhere, and the second has a mount in the first. */
const MOUNT_INFO = `
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
21 20 8:2 / /srv/disk rw,relatime shared:2 - ext4 /dev/sdb1 rw
22 20 8:1 /srv/data/reports /mnt/bound rw,relatime shared:1 - ext4 /dev/sda1 rw
23 20 8:2 /results /mnt/with\\040space rw,relatime shared:2 - ext4 /dev/sdb1 rw
24 20 8:1 / /mnt/all rw,relatime shared:1 - ext4 /dev/sda1 rw
`.trim();

const points = new MountPoints(MOUNT_INFO);
const on = (mountId: string) => (path: string) => ({ path, mountId });
const [root, disk, bound, spaced, all] = [on('20'), on('21'), on('22'), on('23'), on('24')];

test.for([
  ['the same directory', root('/srv/data'), root('/srv/data')],
  ['a directory in it', root('/srv/data/in'), root('/srv/data')],
  ['anything in the root', root('/srv'), root('/')],
  ['a bind mount of a directory in it', bound('/mnt/bound'), root('/srv/data')],
  ['a directory in a bind mount of it', bound('/mnt/bound/2026'), root('/srv/data/reports/2026')],
  ['a directory of which a bind mount is the outer one', root('/srv/data/reports/2026'), bound('/mnt/bound')],
  ['a disk that is mounted in it', disk('/srv/disk/x'), root('/srv')],
  ['a place on a disk that is mounted in it, by another path', spaced('/mnt/with space/x'), root('/srv')],
  ['its own place by a mount of the whole disk', root('/srv/data'), all('/mnt/all/srv')],
] as const)('found within: %s', ([, inner, outer]) => {
  expect(points.isWithin(inner, outer)).toBe(true);
});

test.for([
  ['a directory beside it', root('/srv/data2'), root('/srv/data')],
  ['a directory around it', root('/srv'), root('/srv/data')],
  ['a bind mount of a directory beside it', bound('/mnt/bound'), root('/srv/data/other')],
  ['the same path on another disk', disk('/srv/disk/srv/data'), root('/srv/data')],
] as const)('not found within: %s', ([, inner, outer]) => {
  expect(points.isWithin(inner, outer)).toBe(false);
});

test('a place on a mount that is not known is an error, not an answer', () => {
  expect(() => points.isWithin(on('99')('/srv/data'), root('/home'))).toThrow('no mount that is known');
});

import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Where a file was found: its path without links, and the number of the mount that it is on. */
export interface Location {
  readonly path: string;
  readonly mountId: string;
}

/** A place in a file system. Links and bind mounts show it under several paths. */
interface Place {
  readonly device: string;
  readonly path: string;
}

interface MountPoint extends Place {
  readonly id: string;
  readonly point: string;
}

/** The mounts of this machine at one moment. */
export class MountPoints {
  readonly #points: readonly MountPoint[];

  constructor(mountInfo: string = readFileSync('/proc/self/mountinfo', 'utf8')) {
    this.#points = mountInfo.split('\n').filter(Boolean).map(parsePoint);
  }

  /** Whether `inner` is `outer` or can be reached from it: by its path, by a bind mount, or by a mount below. */
  isWithin(inner: Location, outer: Location): boolean {
    if (isBelow(inner.path, outer.path)) return true;
    const place = this.#placeOf(inner);
    const mountedBelow = this.#points.filter(({ point }) => isBelow(point, outer.path));
    return [this.#placeOf(outer), ...mountedBelow].some(
      (each) => each.device === place.device && isBelow(place.path, each.path),
    );
  }

  #placeOf({ path: full, mountId }: Location): Place {
    const mount = this.#points.find(({ id }) => id === mountId);
    if (mount === undefined || !isBelow(full, mount.point)) throw new TypeError(`${full} is on no mount that is known`);
    return { device: mount.device, path: path.posix.join(mount.path, path.posix.relative(mount.point, full)) };
  }
}

/** The number, the number of its parent, the device, the place there, the mount point, and more. */
function parsePoint(line: string): MountPoint {
  const [id = '', , device = '', root = '', point = ''] = line.split(' ');
  return { id, device, path: unescape(root), point: unescape(point) };
}

/** Undoes the escapes of the kernel: spaces, line breaks and backslashes are octal numbers. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCodePoint(Number.parseInt(digits, 8)));
}

function isBelow(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`);
}

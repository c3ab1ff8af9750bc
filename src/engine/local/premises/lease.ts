import { constants } from 'node:fs';
import { lstat, open, type FileHandle } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Whether somebody lives in a directory; `unmarked` when nobody ever said so. */
export type Occupancy = 'occupied' | 'abandoned' | 'unmarked';

/** Says that a directory is in use: a socket that listens in it, which the kernel closes with its owner however that dies. */
export class Lease implements AsyncDisposable {
  readonly #directory: FileHandle;
  readonly #server: Server;

  private constructor(directory: FileHandle, server: Server) {
    this.#directory = directory;
    this.#server = server;
  }

  /** Null where the file system has no sockets: nobody then knows the directory for ours, and nobody removes it. */
  static async take(directory: string, name: string): Promise<Lease | null> {
    const handle = await open(directory, DIRECTORY);
    const server = createServer((visitor) => visitor.destroy());
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(socketIn(handle, name), resolve);
      });
    } catch {
      await handle.close();
      return null;
    }
    server.unref();
    return new Lease(handle, server);
  }

  /** Removes the socket, too. */
  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#directory.close();
  }
}

/** Asks by knocking: that works whatever namespaces the two are in, and pids say nothing there. */
export async function occupancyOf(directory: string, name: string): Promise<Occupancy> {
  const handle = await open(directory, DIRECTORY);
  try {
    if ((await handle.stat()).uid !== process.getuid?.()) return 'occupied'; // what belongs to another is that other's to remove
    const socket = await lstat(socketIn(handle, name)).catch(() => null);
    if (socket === null || !socket.isSocket()) return 'unmarked';
    return (await knock(socketIn(handle, name))) ? 'occupied' : 'abandoned';
  } finally {
    await handle.close();
  }
}

/** The name of a socket may have some hundred bytes only, and directories lie deeper than that. */
function socketIn(directory: FileHandle, name: string): string {
  return `/proc/self/fd/${directory.fd}/${name}`;
}

function knock(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const visitor = connect(socket);
    visitor.once('connect', () => {
      visitor.destroy();
      resolve(true);
    });
    // Only a refusal means that nobody listens; a full queue, for one, means that somebody does.
    visitor.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  });
}

import { constants } from 'node:fs';
import { lstat, open, rename, type FileHandle } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Whether an engine uses a directory; `unmarked` if none has ever said so. */
export type Occupancy = 'occupied' | 'abandoned' | 'unmarked';

/** Marks a directory as in use by a socket that listens in it. The kernel closes it when its owner dies in whatever way. */
export class Lease implements AsyncDisposable {
  readonly #directory: FileHandle;
  readonly #server: Server;
  readonly #name: string;

  private constructor(directory: FileHandle, server: Server, name: string) {
    this.#directory = directory;
    this.#server = server;
    this.#name = name;
  }

  /** Null if the file system has no sockets. Then no engine knows the directory as ours, and none removes it. */
  static async take(directory: string, name: string): Promise<Lease | null> {
    const handle = await open(directory, DIRECTORY);
    const server = createServer((client) => client.destroy());
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
    return new Lease(handle, server, name);
  }

  /** Leaves the socket there without anybody who listens, so that the next engine knows the directory as abandoned. */
  async abandon(): Promise<void> {
    const [socket, aside] = [this.#name, `${this.#name}.kept`].map((name) => socketIn(this.#directory, name)) as [
      string,
      string,
    ];
    await rename(socket, aside); // closing a server removes its socket by name
    await new Promise((resolve) => this.#server.close(resolve));
    await rename(aside, socket);
    await this.#directory.close();
  }

  /** Removes the socket, too. */
  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#directory.close();
  }
}

/** Finds out by connecting. That works across namespaces, where pids mean nothing. */
export async function occupancyOf(directory: string, name: string): Promise<Occupancy> {
  const handle = await open(directory, DIRECTORY);
  try {
    if ((await handle.stat()).uid !== process.getuid?.()) return 'occupied'; // another user's directory is for that user to remove
    const socket = await lstat(socketIn(handle, name)).catch(() => null);
    if (socket === null || !socket.isSocket()) return 'unmarked';
    return (await isListening(socketIn(handle, name))) ? 'occupied' : 'abandoned';
  } finally {
    await handle.close();
  }
}

/** The path of a socket may have about a hundred bytes, and that of the directory may be longer. */
function socketIn(directory: FileHandle, name: string): string {
  return `/proc/self/fd/${directory.fd}/${name}`;
}

function isListening(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const client = connect(socket);
    client.once('connect', () => {
      client.destroy();
      resolve(true);
    });
    // Only a refusal means that nobody listens. A full queue, for example, means that somebody does.
    client.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  });
}

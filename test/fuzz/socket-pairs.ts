/** Connected pairs of real unix sockets. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

export class SocketPairs implements AsyncDisposable {
  readonly #directory: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(directory: string, server: Server) {
    this.#directory = directory;
    this.#server = server;
  }

  static async open(): Promise<SocketPairs> {
    const directory = await mkdtemp(path.join(tmpdir(), 'viv-fuzz-'));
    const server = createServer().listen(path.join(directory, 'socket'));
    await once(server, 'listening');
    return new SocketPairs(directory, server);
  }

  async make(): Promise<{ readonly near: Socket; readonly far: Socket }> {
    const far = connect(path.join(this.#directory, 'socket'));
    const [near] = (await once(this.#server, 'connection')) as [Socket];
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy()).once('close', () => this.#sockets.delete(socket));
    }
    return { near, far };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await rm(this.#directory, { recursive: true });
  }
}

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A way to a server of this machine that can break off; who comes later gets through again. */
export async function startProxy(url: string): Promise<{ url: string; port: number; cut: () => void }> {
  const sockets = new Set<Socket>();
  const listener = createServer((near) => {
    const far = connect(Number(new URL(url).port), '127.0.0.1');
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) sockets.add(socket.on('error', () => socket.destroy()));
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => void listener.close());
  const { port } = listener.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, cut: () => sockets.forEach((socket) => socket.destroy()) };
}

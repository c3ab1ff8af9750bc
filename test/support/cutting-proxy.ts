import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** How many bytes go through a connection before it breaks off; infinitely many if it does not. */
export interface Cuts {
  readonly toServer: () => number;
  readonly toClient: () => number;
}

export interface CuttingProxy {
  readonly url: string;
  /** How often a connection has broken off. */
  readonly cuts: () => number;
  /** Breaks off all connections now. Those to come lead to this server. */
  readonly lead: (url: string) => void;
}

/** A way to a server of this machine whose connections break off somewhere, in either direction. */
export async function startCuttingProxy(url: string, { toServer, toClient }: Cuts): Promise<CuttingProxy> {
  let cuts = 0;
  let port = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  const listener = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true).on('error', () => socket.destroy());
      socket.on('close', () => sockets.delete(socket));
    }
    const cut = (): void => {
      cuts += 1;
      far.destroy();
      near.destroy();
    };
    pass(near, far, toServer(), cut);
    pass(far, near, toClient(), cut);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => {
    listener.close();
    for (const socket of sockets) socket.destroy();
  });
  const lead = (other: string): void => {
    port = Number(new URL(other).port);
    for (const socket of sockets) socket.destroy();
  };
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, cuts: () => cuts, lead };
}

/** What comes before the cut arrives. */
function pass(from: Socket, to: Socket, maxBytes: number, cut: () => void): void {
  let passed = 0;
  from.on('data', (chunk) => {
    const part = chunk.subarray(0, maxBytes - passed);
    passed += part.length;
    if (passed < maxBytes) {
      if (!to.write(part)) {
        from.pause();
        to.once('drain', () => from.resume());
      }
      return;
    }
    from.pause();
    to.write(part, cut);
  });
  from.on('end', () => to.end());
  from.on('close', () => to.destroySoon());
}

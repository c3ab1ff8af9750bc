/** A proxy that leads wherever it is asked to: what attempts on the gate must get through where there is no gate. */
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

export interface Proxies {
  readonly http: number;
  readonly socks: number;
}

/** Two proxies of this machine; they end with the stack. */
export async function startNaiveProxies(stack: AsyncDisposableStack): Promise<Proxies> {
  const [http, socks] = await Promise.all([listen(serveHttp, stack), listen(serveSocks, stack)]);
  return { http, socks };
}

async function listen(serve: (client: Socket, first: Buffer) => void, stack: AsyncDisposableStack): Promise<number> {
  const server: Server = createServer((client) => {
    client.on('error', () => client.destroy());
    client.once('data', (first) => serve(client, first));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function serveHttp(client: Socket, first: Buffer): void {
  const text = first.toString('latin1');
  const [method, target = ''] = text.split(' ', 2);
  const url = new URL(method === 'CONNECT' ? `http://${withoutZone(target)}/` : target);
  const host = url.hostname.replace(/^\[|\]$/gu, '');
  const upstream = connect(client, host, Number(url.port || 80));
  if (method === 'CONNECT') {
    upstream.once('connect', () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    upstream.write(first.subarray(text.indexOf('\r\n\r\n') + 4)); // may have come along
  } else upstream.write(text.replace(target, url.pathname), 'latin1');
}

/** Names and addresses of both kinds, as RFC 1928 has them. */
function serveSocks(client: Socket): void {
  client.write(Buffer.from([5, 0]));
  client.once('data', (asked) => {
    const size = { 1: 4, 4: 16 }[asked[3] ?? 0] ?? asked[4] ?? 0;
    const start = asked[3] === 3 ? 5 : 4;
    const raw = asked.subarray(start, start + size);
    const host = asked[3] === 3 ? raw.toString('latin1') : size === 4 ? raw.join('.') : inGroups(raw);
    connect(client, host, asked.readUInt16BE(start + size));
    client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
  });
}

function connect(client: Socket, host: string, port: number): Socket {
  const upstream = createConnection({ host, port });
  upstream.on('error', () => client.destroy());
  client.on('close', () => upstream.destroy());
  upstream.pipe(client);
  client.pipe(upstream);
  return upstream;
}

function withoutZone(target: string): string {
  return target.replace(/%\w+\]/u, ']');
}

function inGroups(raw: Buffer): string {
  return (raw.toString('hex').match(/.{4}/gu) ?? []).join(':');
}

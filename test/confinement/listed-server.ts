/** A server on the list of a session. It greets only those who came to it, or got from it, where they should not. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

const TLS_HANDSHAKE = 0x16;

/** Its port; it ends with the stack. `elsewhere` is where it sends those who ask for /away. */
export async function startListedServer(
  stack: AsyncDisposableStack,
  { greeting, elsewhere }: { readonly greeting: string; readonly elsewhere: string },
): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (first) => socket.end(answer(first)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  const { port } = server.address() as AddressInfo;

  function answer(first: Buffer): string {
    if (first[0] === TLS_HANDSHAKE) return greeting; // honest programs name it, and the gate lets no other name through
    const text = first.toString('latin1');
    if (text.startsWith('GET /away ')) return respond('302 Found', '', `Location: ${elsewhere}\r\n`);
    return respond('200 OK', text.includes(`:${port}\r\n`) ? 'listed' : greeting);
  }
  return port;
}

/** An answer of HTTP that ends the connection. */
export function respond(status: string, body: string, more = ''): string {
  return `HTTP/1.1 ${status}\r\n${more}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}

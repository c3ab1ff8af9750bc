/** A model that answers with these documents, one after the other, over HTTP on loopback. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  /** What was sent to which path. */
  readonly requests: { readonly path: string | undefined; readonly body: unknown }[];
}

export async function startModelServer(answers: readonly object[]): Promise<ModelServer> {
  const requests: ModelServer['requests'] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const answer = answers[requests.length];
      requests.push({ path: request.url, body: JSON.parse(body) as unknown });
      response.writeHead(answer === undefined ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer ?? { error: { message: 'the script is over' } }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** HTTP without a library of ours: one connection that is kept alive, one request at a time. */
import http from 'node:http';
import { text } from 'node:stream/consumers';

export interface BareRequest {
  readonly url: string;
  readonly key?: string;
  /** Sent as JSON. */
  readonly body: object;
}

export class BareClient implements Disposable {
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

  /** The whole answer as text. */
  async post({ url, key, body }: BareRequest): Promise<string> {
    const json = JSON.stringify(body);
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const request = http.request(url, {
      method: 'POST',
      agent: this.#agent,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(json),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
    });
    request.once('response', resolve).once('error', reject).end(json);
    const response = await promise;
    const answer = await text(response);
    if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}: ${answer}`);
    return answer;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

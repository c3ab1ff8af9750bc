/** A name server with names of our own. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

export interface NameServer {
  readonly address: readonly [string, number];
  /** The names that were looked up. */
  readonly asked: readonly string[];
}

/** Answers with the IPv4 addresses of a name; one that has several answers gives the next one each time, the last for ever. */
export async function startNameServer(
  names: Readonly<Record<string, readonly string[]>>,
  defer: (end: () => void) => void = onTestFinished,
): Promise<NameServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    const { name, end, kind } = readQuestion(query);
    if (kind === 1) asked.push(name);
    const answers = names[name] ?? [];
    const nth = Math.min(asked.filter((one) => one === name).length, answers.length) - 1;
    const found = kind === 1 ? answers.slice(nth, nth + 1) : [];
    const header = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, found.length, 0, 0, 0, 0]);
    const records = found.map((one) => [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...one.split('.').map(Number)]);
    socket.send(Buffer.concat([header, query.subarray(12, end), Buffer.from(records.flat())]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  defer(() => void socket.close());
  return { address: ['127.0.0.1', socket.address().port], asked };
}

function readQuestion(query: Buffer): { readonly name: string; readonly end: number; readonly kind: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 5, kind: query.readUInt16BE(at + 1) };
}

/** A small package index on this machine: pages as PEP 503 has them, and the files that they link to. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Wheel } from './wheel.ts';

export interface IndexServer {
  readonly url: string;
  /** The paths that were asked for. */
  readonly asked: readonly string[];
  close(): void;
}

export interface IndexedFile extends Wheel {
  /** What the page says, if that is not true. */
  readonly sha256?: string;
  /** Where the page says that it is, if that is elsewhere. */
  readonly href?: string;
}

export async function startIndex(packages: Readonly<Record<string, readonly IndexedFile[]>>): Promise<IndexServer> {
  const asked: string[] = [];
  const files = new Map(
    Object.values(packages).flatMap((all) => all.map((one) => [one.filename, one.content] as const)),
  );
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://index');
    asked.push(pathname);
    const [, kind, name = ''] = pathname.split('/');
    const listed = kind === 'simple' ? packages[name] : undefined;
    const content = kind === 'files' ? files.get(decodeURIComponent(name)) : undefined;
    if (listed !== undefined) {
      response.setHeader('content-type', 'text/html');
      response.end(`<!DOCTYPE html><html><body>${listed.map(linkTo).join('\n')}</body></html>`);
    } else if (content !== undefined) response.end(content);
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/simple`, asked, close };
}

function linkTo({ filename, content, sha256, href = `/files/${encodeURIComponent(filename)}` }: IndexedFile): string {
  const digest = sha256 ?? createHash('sha256').update(content).digest('hex');
  return `<a href="${href}#sha256=${digest}">${filename}</a>`;
}

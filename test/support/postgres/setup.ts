/** For vitest: one PostgreSQL for a whole run, started when the first test file asks for it and ended with the run. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { PostgresServer } from './server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A socket that says where the server is, once it is there. */
    readonly postgresDesk: string;
  }
}

/** What the desk answers. */
export type PostgresAnswer = { readonly url: string } | { readonly missing: string };

export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-desk-'));
  let starting: Promise<PostgresServer> | undefined;
  const desk = createServer((socket) => {
    socket.on('error', () => undefined); // who has asked is gone
    starting ??= start();
    void starting.then(
      ({ url }) => socket.end(JSON.stringify({ url } satisfies PostgresAnswer)),
      (error: unknown) => socket.end(JSON.stringify({ missing: String(error) } satisfies PostgresAnswer)),
    );
  });
  const socketPath = path.join(directory, 'desk');
  await new Promise<void>((resolve, reject) => desk.once('error', reject).listen(socketPath, resolve));
  provide('postgresDesk', socketPath);
  return async () => {
    desk.close();
    const server = await starting?.catch(() => undefined); // the tests have told why
    await server?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  };
}

async function start(): Promise<PostgresServer> {
  try {
    return await PostgresServer.start();
  } catch (error) {
    process.stderr.write(`\nPostgreSQL IS NOT TESTED, for there is none: ${String(error)}\n`);
    throw error;
  }
}

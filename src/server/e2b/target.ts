import type { IncomingHttpHeaders } from 'node:http';

/** The port that E2B's SDKs expect files and commands of a sandbox at. */
export const ENVD_PORT = 49_983;
/** The port that they expect its interpreter at. */
export const INTERPRETER_PORT = 49_999;

/** A port of a sandbox. */
export interface SandboxTarget {
  readonly sandboxId: string;
  readonly port: number;
}

/** `49999-abc.example.com`, with or without a port of our own. */
const NAMED = /^(\d{1,5})-([a-z0-9]{20})\./i;

/** What a request into a sandbox is for, by its headers or its Host name; null if it is not for a sandbox. */
export function findTarget(headers: IncomingHttpHeaders): SandboxTarget | null {
  const id = headers['e2b-sandbox-id'];
  if (typeof id === 'string') {
    const port = headers['e2b-sandbox-port'];
    return { sandboxId: id, port: typeof port === 'string' ? Number(port) : ENVD_PORT };
  }
  const [, port, sandboxId] = NAMED.exec(headers.host ?? '') ?? [];
  return sandboxId === undefined ? null : { sandboxId: sandboxId.toLowerCase(), port: Number(port) };
}

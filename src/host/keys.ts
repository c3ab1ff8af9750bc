/** Which session the caller means. */
export interface Selector {
  readonly sessionId?: string | undefined;
  readonly chatId?: string | undefined;
  readonly clientId?: string | undefined;
}

/**
 * The key that a session is found by: the session or chat id, otherwise the client id, otherwise `default`. Two clients
 * that use the same chat id get two sessions.
 */
export function resolveKey({ sessionId, chatId, clientId }: Selector): string {
  const client = clientId === undefined ? [] : [part('client', clientId)];
  if (sessionId !== undefined) return [...client, part('session', sessionId)].join('/');
  if (chatId !== undefined) return [...client, part('chat', chatId)].join('/');
  return client[0] ?? 'default';
}

/** The key of a session that was created with `createSession`, not for a chat or client. */
export function keyOfId(id: string): string {
  return part('id', id);
}

/** Encoded, so that no id can imitate the key of another session. */
function part(kind: string, id: string): string {
  return `${kind}:${encodeURIComponent(id.toWellFormed())}`;
}

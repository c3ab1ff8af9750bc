/** Whose session is meant, in the words of the caller. */
export interface Selector {
  readonly sessionId?: string | undefined;
  readonly chatId?: string | undefined;
  readonly clientId?: string | undefined;
}

/**
 * The key that a session is found by: the session or chat id, else the client id, else `default`. A client's chats are
 * its own: two clients that use the same chat id get two sessions.
 */
export function resolveKey({ sessionId, chatId, clientId }: Selector): string {
  const client = clientId === undefined ? [] : [part('client', clientId)];
  if (sessionId !== undefined) return [...client, part('session', sessionId)].join('/');
  if (chatId !== undefined) return [...client, part('chat', chatId)].join('/');
  return client[0] ?? 'default';
}

/** The key of a session that was created by itself, not for a chat or client. */
export function keyOfId(id: string): string {
  return part('id', id);
}

/** Encoded, so that no id can be written to look like the key of another one. */
function part(kind: string, id: string): string {
  return `${kind}:${encodeURIComponent(id.toWellFormed())}`;
}

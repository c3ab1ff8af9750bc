/** Commands of the system in a session: run, start, follow, write to, signal. */
import { Hono } from 'hono';
import { parse } from '../../config.ts';
import { CommandRequestSchema, SignalRequestSchema } from '../../wire/http/command.ts';
import { leaving, sendEvents, sendJson, sendNothing, sendText } from '../http/answer.ts';
import { readChunks, readJson } from '../http/body.ts';
import { lastEventId, wantsEvents } from '../http/events.ts';
import type { ServerContext, ServerEnv, ServerParts } from '../parts/parts.ts';
import type { ServerCommand } from '../runs/command-registry.ts';
import { InputQuery } from '../../wire/http/query.ts';
import { sessionOf } from './sessions.ts';

export function commandRoutes({ commands }: ServerParts): Hono<ServerEnv> {
  return new Hono<ServerEnv>()
    .post('/sessions/:id/commands', async (c) => {
      const { argv, input, background: isBackground = false, ...options } = await readJson(c, CommandRequestSchema);
      const session = await sessionOf(c);
      const given = input ?? (isBackground ? undefined : '');
      const command = await commands.start({ session, argv, options, input: given, isBackground });
      const { id } = command;
      if (isBackground) return sendJson(c, 201, { id, pid: command.command.pid }, { 'vivarium-command': id });
      return wantsEvents(c) ? follow(c, command, 0) : answer(c, command);
    })
    .get('/commands/:id/events', (c) => follow(c, commands.get(c.req.param('id'), c.var.client), lastEventId(c)))
    .post('/commands/:id/input', async (c) => {
      const { command } = commands.get(c.req.param('id'), c.var.client);
      const { end } = parse(InputQuery, c.req.query());
      for await (const chunk of readChunks(c.env.incoming)) await command.write(chunk);
      if (end === 'true') command.closeInput();
      return sendNothing(c);
    })
    .post('/commands/:id/cancel', (c) => {
      commands.get(c.req.param('id'), c.var.client).cancel();
      return sendNothing(c);
    })
    .post('/commands/:id/signal', async (c) => {
      const { command } = commands.get(c.req.param('id'), c.var.client);
      const { signal = 'SIGKILL' } = await readJson(c, SignalRequestSchema);
      return sendJson(c, 200, { delivered: await command.kill(signal) });
    });
}

async function answer(c: ServerContext, command: ServerCommand): Promise<Response> {
  using _ = command.watch();
  using client = leaving(c.env.outgoing);
  const end = await Promise.race([command.ended, client.left]);
  const { status, body } = end ?? { status: 499, body: '' }; // nobody is there any more
  return sendText(c, status, body, { 'vivarium-command': command.id });
}

async function follow(c: ServerContext, command: ServerCommand, after: number): Promise<Response> {
  using _ = command.watch();
  return await sendEvents(c, (gone) => command.log.read(after, gone), { 'vivarium-command': command.id });
}

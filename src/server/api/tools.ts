/** The tools of `vivarium/tools`, for models that are called elsewhere. */
import { Hono } from 'hono';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import { toAnthropicTool } from '../../tool/formats/anthropic.ts';
import { toMcpTool } from '../../tool/formats/mcp.ts';
import { toOpenAITool } from '../../tool/formats/openai.ts';
import type { ToolDefinition } from '../../tool/tool.ts';
import { ToolCallSchema } from '../../wire/http/tool.ts';
import { sendJson } from '../http/answer.ts';
import { readJson } from '../http/body.ts';
import type { ServerEnv, ServerParts } from '../parts/parts.ts';
import { ToolQuery } from '../../wire/http/query.ts';

export function toolRoutes({ tools, host }: ServerParts): Hono<ServerEnv> {
  const traits = { isReadOnly: false, usesNetwork: host.isolation.network !== 'none' };
  const forms: Readonly<Record<string, (definition: ToolDefinition) => object>> = {
    openai: toOpenAITool,
    anthropic: toAnthropicTool,
    mcp: (definition) => toMcpTool(definition, traits),
  };
  return new Hono<ServerEnv>()
    .get('/tools', async (c) => {
      const { format } = parse(ToolQuery, c.req.query());
      const definitions = await Promise.all(tools.of(c.var.client).map((tool) => tool.define()));
      return sendJson(c, 200, { tools: definitions.map((one) => forms[format ?? '']?.(one) ?? one) });
    })
    .post('/tools/:name', async (c) => {
      const { arguments: args, context } = await readJson(c, ToolCallSchema);
      const tool = tools.of(c.var.client).find(({ name }) => name === c.req.param('name'));
      if (tool === undefined) {
        throw new VivariumError('NOT_FOUND', `There is no tool ${JSON.stringify(c.req.param('name'))}.`);
      }
      const { signal } = c.req.raw;
      return sendJson(c, 200, await tool.call(args, { signal, ...(context && { context }) }));
    });
}

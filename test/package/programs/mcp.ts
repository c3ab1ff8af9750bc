/** An MCP server and a client of it, both of `@modelcontextprotocol/sdk`. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { CodeInterpreterTool, toMcpResult, toMcpTool } from 'vivarium/tools';

await using python = new CodeInterpreterTool({ timeout: 30 });
const server = new Server({ name: 'python', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: [toMcpTool(await python.define(), { isReadOnly: false, usesNetwork: false })],
}));
server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) =>
  toMcpResult(await python.call(params.arguments ?? {}, { signal })),
);

const [near, far] = InMemoryTransport.createLinkedPair();
const client = new Client({ name: 'test', version: '1.0.0' });
await Promise.all([server.connect(near), client.connect(far)]);
const call = (code: string) => client.callTool({ name: 'code_interpreter', arguments: { code } });
const { tools } = await client.listTools();
const plot = await call('import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint(6 * 7)');
const failed = await call('1 / 0');
await client.close();
console.log(JSON.stringify({ tools, plot, failed }));

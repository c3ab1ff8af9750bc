/** An agent loop over the `@anthropic-ai/sdk` package. */
import Anthropic from '@anthropic-ai/sdk';
import { CodeInterpreterTool, toAnthropicResult, toAnthropicTool } from 'vivarium/tools';

await using python = new CodeInterpreterTool({ timeout: 30 });
const client = new Anthropic();
const tools: Anthropic.Tool[] = [toAnthropicTool(await python.define())];
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Plot it.' }];

for (let isDone = false; !isDone;) {
  const reply = await client.messages.create({ model: 'scripted', max_tokens: 1000, messages, tools });
  messages.push({ role: 'assistant', content: reply.content });
  const results: Anthropic.ToolResultBlockParam[] = [];
  for (const block of reply.content) {
    if (block.type !== 'tool_use') continue;
    results.push(toAnthropicResult(block.id, await python.call(block.input as Record<string, unknown>)));
  }
  if (results.length > 0) messages.push({ role: 'user', content: results });
  isDone = results.length === 0;
}
console.log(JSON.stringify(messages));

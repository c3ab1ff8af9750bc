/** An agent loop over the chat completions API of the `openai` package. */
import OpenAI from 'openai';
import { CodeInterpreterTool, toOpenAIMessage, toOpenAITool } from 'vivarium/tools';

await using python = new CodeInterpreterTool({ timeout: 30 });
const client = new OpenAI();
const tools: OpenAI.ChatCompletionTool[] = [toOpenAITool(await python.define())];
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Plot it.' }];

for (let answer: string | null = null; answer === null;) {
  const { choices } = await client.chat.completions.create({ model: 'scripted', messages, tools });
  const message = choices[0]?.message;
  if (message === undefined) throw new Error('no choice');
  messages.push(message);
  for (const call of message.tool_calls ?? []) {
    if (call.type !== 'function') continue;
    const args = JSON.parse(call.function.arguments) as Record<string, unknown>;
    messages.push(toOpenAIMessage(call.id, await python.call(args)));
  }
  answer = message.content;
}
console.log(JSON.stringify(messages));

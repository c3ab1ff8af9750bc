/** An agent loop over the Responses API of the `openai` package. */
import OpenAI from 'openai';
import { CodeInterpreterTool, toOpenAIResponsesOutput, toOpenAIResponsesTool } from 'vivarium/tools';

await using python = new CodeInterpreterTool({ timeout: 30 });
const client = new OpenAI();
const tools: OpenAI.Responses.Tool[] = [toOpenAIResponsesTool(await python.define())];
const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Plot it.' }];

for (let isDone = false; !isDone;) {
  const { output } = await client.responses.create({ model: 'scripted', input, tools });
  const calls = output.filter((item) => item.type === 'function_call');
  for (const call of calls) {
    input.push(call);
    const args = JSON.parse(call.arguments) as Record<string, unknown>;
    input.push(toOpenAIResponsesOutput(call.call_id, await python.call(args)));
  }
  isDone = calls.length === 0;
}
console.log(JSON.stringify(input));

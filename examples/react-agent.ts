/** An agent for models without native tool calling. It has a custom tool besides Python. */
import { z } from 'zod';
import { CodeInterpreterTool, OpenAILLM, ReActAgent, tool } from '../src/agent.ts';

const PRICES: ReadonlyMap<string, number> = new Map([
  ['A-17', 12.5],
  ['B-04', 3.2],
]);

const lookUp = tool({
  name: 'look_up',
  description: 'Finds the price of an article.',
  parameters: z.object({ article: z.string().describe('Its number, for example A-17') }),
  run: ({ article }) => PRICES.get(article) ?? `There is no article ${article}.`,
});

await using python = new CodeInterpreterTool({ timeout: 15 });
const agent = new ReActAgent({ llm: new OpenAILLM(), tools: [lookUp, python], maxIterations: 6 });

for await (const event of agent.streamSteps('What do 7 pieces of A-17 cost?')) {
  if (event.type === 'thought') console.log(`[thought] ${event.thought}`);
  if (event.type === 'action') console.log(`[${event.tool}] ${String(event.tool_input)}`);
  if (event.type === 'observation')
    console.log(`[observation] ${event.tool === python.name ? printed(event.observation) : event.text}`);
  if (event.type === 'final_answer') console.log(`\n${event.answer}`);
}

/** The tool answers with JSON; see docs/tools.md. */
function printed(observation: string): string {
  const { stdout, stderr } = JSON.parse(observation) as { readonly stdout: string; readonly stderr: string };
  return (stdout + stderr).trim();
}

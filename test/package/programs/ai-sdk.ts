/** An agent of the `ai` package, with its own fake model. */
import { generateText, isStepCount, tool, type ToolSet } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { CodeInterpreterTool, toAiSdkTool } from 'vivarium/tools';

const CALLS = ['import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint(6 * 7)', '1 / 0'];

await using python = new CodeInterpreterTool({ timeout: 30 });
const form = await toAiSdkTool(python, { clientId: 'ada' });
const tools = { code_interpreter: form } satisfies ToolSet;
const typed = tool(form); // it also fits where a tool is declared

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
let turn = 0;
const model = new MockLanguageModelV4({
  doGenerate: () => {
    const code = CALLS[turn];
    turn += 1;
    return Promise.resolve({
      content:
        code === undefined
          ? [{ type: 'text' as const, text: 'done' }]
          : [
              {
                type: 'tool-call' as const,
                toolCallId: `c${turn}`,
                toolName: 'code_interpreter',
                input: JSON.stringify({ code }),
              },
            ],
      finishReason: { unified: code === undefined ? ('stop' as const) : ('tool-calls' as const), raw: undefined },
      usage,
      warnings: [],
    });
  },
});

const { text, steps } = await generateText({ model, tools, stopWhen: isStepCount(5), prompt: 'Plot it.' });
const output = steps[0]?.toolResults[0]?.output;
const schema = model.doGenerateCalls[0]?.tools;
const prompt = model.doGenerateCalls[2]?.prompt;
console.log(JSON.stringify({ text, output, schema, prompt, description: typed.description }));

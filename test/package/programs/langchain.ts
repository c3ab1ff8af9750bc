/** A tool call of LangChain, with its own fake model. */
import { AIMessage, HumanMessage, type BaseMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { CodeInterpreterTool, toLangChainTool } from 'vivarium/tools';

await using python = new CodeInterpreterTool({ timeout: 30 });
const tool = await toLangChainTool(python, { pictures: true });
const model = fakeModel()
  .respondWithTools([
    { name: tool.name, id: 'c1', args: { code: 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint(6 * 7)' } },
  ])
  .respondWithTools([{ name: tool.name, id: 'c2', args: { code: '1 / 0' } }])
  .respond(new AIMessage('done'))
  .bindTools([tool]);

const messages: BaseMessage[] = [new HumanMessage('Plot it.')];
for (let isDone = false; !isDone;) {
  const reply = (await model.invoke(messages)) as AIMessage;
  messages.push(reply);
  for (const call of reply.tool_calls ?? [])
    messages.push((await tool.invoke({ ...call, type: 'tool_call' })) as BaseMessage);
  isDone = (reply.tool_calls ?? []).length === 0;
}
console.log(JSON.stringify(messages.map((message) => message.toDict().data)));

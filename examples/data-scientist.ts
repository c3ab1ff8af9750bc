/** A chat with a data scientist that runs Python. Variables stay from message to message and survive crashes. */
import { Agent } from '../src/agent.ts';
import { PythonInterpreterToolSet } from '../src/tools.ts';

await using pythonTools = new PythonInterpreterToolSet({ name: 'python' });

const agent = new Agent({
  name: 'data_scientist',
  instructions: 'You are a data scientist who can analyze data with Python.',
});
await agent.toolset(pythonTools);

await agent.chat();

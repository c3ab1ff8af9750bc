/** Approval is a layer: every tool can have it, and none has it unless it is asked for. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import {
  CodeInterpreterTool,
  IPythonInterpreter,
  PythonInterpreterToolSet,
  toLangChainTool,
  withApproval,
  type Tool,
} from '../../../src/tools.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost();
});
afterAll(() => host.close());

/** The tool of each interface that runs code, with arguments that print. */
const TOOLS: Readonly<Record<string, { readonly make: (host: Host) => Tool; readonly argument: string }>> = {
  Pantheon: {
    make: (shared) => {
      const tool = new PythonInterpreterToolSet({ name: 'python', host: shared })
        .tools()
        .find(({ name }) => name.endsWith('run_python_code'));
      if (tool === undefined) throw new Error('the toolset has no tool that runs code');
      return tool;
    },
    argument: 'code',
  },
  SynapseKit: { make: (shared) => new CodeInterpreterTool({ host: shared }), argument: 'code' },
  lagent: { make: (shared) => new IPythonInterpreter({ host: shared }).toTool(), argument: 'command' },
};

test.for(Object.entries(TOOLS))(
  'X-15 the tool of %s runs nothing that was rejected, and all that was approved',
  async ([, { make, argument }]) => {
    const tool = make(host);
    const args = { [argument]: 'print("it " + "ran")' };
    expect((await tool.call(args)).text).toContain('it ran');
    const asked: string[] = [];
    const careful = withApproval(tool, {
      approve: ({ args: { [argument]: code } }) => {
        asked.push(String(code));
        return asked.length > 1 || { approved: false, reason: 'look at it first' };
      },
    });
    const rejected = await careful.call(args);
    expect([rejected.isError, rejected.text.includes('it ran')]).toEqual([true, false]);
    expect(rejected.text).toContain('look at it first');
    expect((await careful.call(args)).text).toContain('it ran');
    expect(asked).toEqual([args[argument], args[argument]]);
  },
);

test('X-15 the layer stays on a tool that is given to a framework', async () => {
  const careful = withApproval(new CodeInterpreterTool({ host }), { approve: () => false });
  const tool = await toLangChainTool(careful);
  expect(await tool.invoke({ code: 'print("it " + "ran")' })).toContain('was rejected, so nothing ran');
});

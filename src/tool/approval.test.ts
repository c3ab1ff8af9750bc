import { expect, test } from 'vitest';
import { withApproval, type ToolApprovalRequest } from './approval.ts';
import type { Tool } from './tool.ts';

/** Notes what it is called with. */
function journal(): Tool & { readonly calls: unknown[] } {
  const calls: unknown[] = [];
  return {
    name: 'journal',
    calls,
    define: async () => ({
      name: 'journal',
      description: 'Notes.',
      parameters: { type: 'object', properties: {}, required: [] },
    }),
    call: async (args, options) => {
      calls.push([args, options?.context]);
      return { text: 'noted', payload: null, isError: false };
    },
  };
}

test('X-15 a tool without the layer asks nobody, and with it runs what was approved', async () => {
  const tool = journal();
  const asked: ToolApprovalRequest[] = [];
  const careful = withApproval(tool, { approve: (request) => (asked.push(request), true) });
  const context = { clientId: 'ann' };
  expect(await careful.call({ code: '1' }, { context })).toEqual({ text: 'noted', payload: null, isError: false });
  expect(asked).toEqual([{ tool: 'journal', args: { code: '1' }, context }]);
  expect(tool.calls).toEqual([[{ code: '1' }, context]]);
  expect(await careful.define()).toEqual(await tool.define());
});

test.for([
  [false, ''],
  [{ approved: false, reason: 'too early' }, 'too early'],
  ['yes', ''],
  [1, ''],
  [null, ''],
  [{ approved: 'true' }, ''],
  [undefined, ''],
] as const)('X-15 %j approves nothing', async ([decision, reason]) => {
  const tool = journal();
  const observation = await withApproval(tool, { approve: () => decision as never }).call({ code: '1' });
  expect(tool.calls).toEqual([]);
  expect(observation).toMatchObject({ isError: true, payload: { success: false, rejected: true } });
  expect(observation.text).toContain('This call of journal was rejected, so nothing ran');
  expect(observation.text).toContain(reason);
});

test('what is approved is what runs, also if somebody changes the arguments meanwhile', async () => {
  const tool = journal();
  const args: Record<string, unknown> = { code: 'print(1)' };
  const approve = (request: ToolApprovalRequest): boolean => {
    args['code'] = 'print(2)';
    (request.args as Record<string, unknown>)['code'] = 'print(3)';
    return true;
  };
  await withApproval(tool, { approve }).call(args);
  expect(tool.calls).toEqual([[{ code: 'print(1)' }, undefined]]);
});

test('only some calls can be asked about; an asker that fails, or that nobody waits for, approves nothing', async () => {
  const tool = journal();
  const fail = (): never => {
    throw new Error('no line');
  };
  const some = withApproval(tool, { approve: fail, when: ({ args }) => args['code'] !== 'safe' });
  await some.call({ code: 'safe' });
  await expect(some.call({ code: 'other' })).rejects.toThrow('no line');
  const stop = new AbortController();
  const late = withApproval(tool, { approve: () => (stop.abort(new Error('gone')), true) });
  await expect(late.call({ code: 'late' }, { signal: stop.signal })).rejects.toThrow('gone');
  expect(tool.calls).toHaveLength(1);
  expect(() => withApproval(tool, {} as never)).toThrow('needs `approve`');
});

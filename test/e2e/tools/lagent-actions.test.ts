/** Actions by name, their arguments and what they return, as lagent has them: each row of the requirements under its id. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import {
  ActionExecutor,
  ActionReturn,
  ActionStatusCode,
  ActionValidCode,
  BaseAction,
  FinishAction,
  get_tool,
  get_tool_cls,
  IPythonInterpreter,
  JsonParser,
  list_tools,
  TupleParser,
  type IPythonOptions,
} from '../../../src/tools.ts';

let host: Host;
let shared: IPythonInterpreter;
beforeAll(async () => {
  host = await createHost({ preload: [] });
  shared = new IPythonInterpreter({ host });
});
afterAll(() => host?.close());

function open(options: IPythonOptions = {}): IPythonInterpreter {
  const interpreter = new IPythonInterpreter({ host, ...options });
  onTestFinished(() => interpreter.close());
  return interpreter;
}

const textOf = ({ result, errmsg }: ActionReturn): string | undefined => errmsg ?? result?.[0]?.content;

test('L-30 L-31 L-32 an ActionReturn has its fields and defaults', () => {
  expect(JSON.parse(JSON.stringify(new ActionReturn()))).toEqual({
    args: null,
    url: null,
    type: null,
    result: null,
    errmsg: null,
    state: 0,
    thought: null,
    valid: 0,
  });
  expect(ActionStatusCode).toEqual({ ING: 1, SUCCESS: 0, HTTP_ERROR: -1000, ARGS_ERROR: -1001, API_ERROR: -1002 });
  expect(ActionValidCode).toEqual({ FINISH: 1, OPEN: 0, CLOSED: -1, INVALID: -2, ABSENT: -3 });
});

test('L-35 format_result joins text and links', () => {
  const items = [
    { type: 'text', content: 'a' },
    { type: 'image', content: 'b.png' },
  ];
  expect(new ActionReturn({ result: items }).format_result()).toBe('a\n[image](b.png)');
});

test('L-44 arguments that do not fit have the texts that are known', async () => {
  const { ARGS_ERROR, API_ERROR } = ActionStatusCode;
  const cases: [unknown, string, string, number][] = [
    ['{"command"', 'run', 'invalid json format: {"command"', ARGS_ERROR],
    ['{"cmd": "1", "command": "1"}', 'run', "unknown arguments: {'cmd'}", ARGS_ERROR],
    ['{}', 'run', "missing required arguments: {'command'}", ARGS_ERROR],
    ['{}', 'close', 'invalid API: close', API_ERROR],
    [{ command: 5 }, 'run', 'command must be a string of Python code.', API_ERROR],
  ];
  for (const [inputs, name, errmsg, state] of cases) {
    expect(await shared.call(inputs, name)).toMatchObject({ errmsg, state, type: 'IPythonInterpreter' });
  }
  const tuples = open({ parser: TupleParser });
  expect((await tuples.call('nonsense')).errmsg).toBe('invalid tuple format: nonsense');
  expect((await tuples.call([])).errmsg).toBe('API takes 1 required positional arguments but 0 were given');
  expect((await tuples.call([1, 2, 3])).errmsg).toBe('API takes 2 positional arguments but 3 were given');
});

test('L-45 JSON may stand in a fence', async () => {
  expect(textOf(await shared.call('```json\n{"command": "6 * 7"}\n```'))).toBe('42');
  expect(new JsonParser(shared.description).parseInputs({ command: '1' })).toEqual({ command: '1' });
});

test('L-46 a description has the fields and the type names that are known', () => {
  const { name, description, parameters, required, parameter_description: hint } = shared.description;
  expect({ name, required, parameters: parameters.map((one) => [one.name, one.type]) }).toEqual({
    name: 'IPythonInterpreter',
    required: ['command'],
    parameters: [
      ['command', 'STRING'],
      ['timeout', 'NUMBER'],
    ],
  });
  expect([typeof description, typeof hint]).toEqual(['string', 'string']);
});

test('L-47 the executor adds, deletes, finishes, and calls a toolkit by Tool.api', async () => {
  class Calculator extends BaseAction {
    constructor() {
      const [a, b] = ['a', 'b'].map((name) => ({ name, type: 'NUMBER', description: name }));
      const api = {
        name: 'add',
        description: 'Adds.',
        parameters: [a, b].filter((one) => one !== undefined),
        required: ['a', 'b'],
      };
      super({ name: 'Calculator', description: 'Calculates.', parameters: [], required: [], api_list: [api] });
    }
    protected override perform(_: string, { a, b }: Readonly<Record<string, unknown>>): number {
      return Number(a) + Number(b);
    }
  }
  const executor = new ActionExecutor([shared], { finish_in_action: true });
  // @ts-expect-error - a misspelt option of a caller from JavaScript
  expect(() => new ActionExecutor([shared], { finish: true })).toThrow(/finish/);
  executor.add_action(new Calculator());
  expect(executor.get_actions_info().map(({ name }) => name)).toEqual([
    'IPythonInterpreter',
    'FinishAction',
    'Calculator.add',
  ]);
  expect(textOf(await executor.call('Calculator.add', '{"a": 1, "b": 2}'))).toBe('3');
  expect(textOf(await executor.call('IPythonInterpreter', { command: '2' }))).toBe('2');
  expect(await executor.call('FinishAction', 'done')).toMatchObject({
    valid: ActionValidCode.FINISH,
    result: [{ content: 'done' }],
  });
  expect(await executor.call('NoAction', '')).toMatchObject({
    errmsg: 'Please follow the format',
    valid: ActionValidCode.INVALID,
  });
  expect((await executor.call('Nobody', '1')).errmsg).toBe('The action is invalid, please check the action name.');
  executor.del_action('Calculator');
  expect(executor.is_valid('Calculator')).toBe(false);
});

test('L-48 tools are listed, found and made by name', () => {
  expect(list_tools()).toContain('IPythonInterpreter');
  expect(get_tool_cls('IPythonInterpreter')).toBe(IPythonInterpreter);
  expect(get_tool('FinishAction')).toBeInstanceOf(FinishAction);
  expect(get_tool('IPythonInterpreter', { timeout: 3, host }).timeout).toBe(3);
  // @ts-expect-error - a name from JavaScript
  expect(() => get_tool_cls('toString')).toThrow(/no tool named "toString"/);
});

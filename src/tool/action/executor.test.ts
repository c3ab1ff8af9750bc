import { expect, test } from 'vitest';
import { BaseAction, FinishAction, InvalidAction, NoAction, type ActionOptions } from './actions.ts';
import {
  ActionReturn,
  ActionStatusCode,
  ActionValidCode,
  type ActionDescription,
  type ActionItem,
} from './contract.ts';
import { ActionExecutor } from './executor.ts';
import { BaseParser, TupleParser, type ActionArguments } from './parsers.ts';

const ECHO: ActionDescription = {
  name: 'Echo',
  description: 'Repeats.',
  parameters: [{ name: 'text', type: 'STRING', description: 'what' }],
  required: ['text'],
};

/** Does what the test says with its arguments. */
class Echo extends BaseAction {
  readonly #work: (args: ActionArguments, api: string) => unknown;

  constructor(work: (args: ActionArguments, api: string) => unknown, options: ActionOptions = {}) {
    super(ECHO, options);
    this.#work = work;
  }

  protected override perform(api: string, args: ActionArguments): unknown {
    return this.#work(args, api);
  }
}

const repeat = (): Echo => new Echo(({ text }) => text);

test('what a function returns is a successful result with its arguments', async () => {
  expect(await new ActionExecutor(repeat()).call('Echo', '{"text": "hi"}')).toEqual(
    new ActionReturn({ args: { text: 'hi' }, type: 'Echo', result: [{ type: 'text', content: 'hi' }] }),
  );
});

test('an action may return a result of its own, which gets the missing arguments and type', async () => {
  const own = new ActionReturn({ result: [{ type: 'image', content: '/a.png' }], state: ActionStatusCode.ING });
  const returned = await new Echo(() => own).call({ text: 'x' });
  expect(returned).toBe(own);
  expect([returned.args, returned.type, returned.state]).toEqual([{ text: 'x' }, 'Echo', ActionStatusCode.ING]);
  const named = new ActionReturn({ args: { mine: 1 }, type: 'Mine' });
  expect(await new Echo(() => named).call({ text: 'x' })).toMatchObject({ args: { mine: 1 }, type: 'Mine' });
});

test.for<[string, () => unknown, string]>([
  ['an error', () => Promise.reject(new RangeError('too far')), 'too far'],
  [
    'a synchronous error',
    () => {
      throw new Error('at once');
    },
    'at once',
  ],
  // oxlint-disable-next-line prefer-promise-reject-errors
  ['a value', () => Promise.reject('plain'), 'plain'],
])('%s that an action throws is part of its result', async ([, work, errmsg]) => {
  expect(await new Echo(work).call({ text: 'x' })).toEqual(
    new ActionReturn({ args: { text: 'x' }, type: 'Echo', errmsg, state: ActionStatusCode.API_ERROR }),
  );
});

test('L-44 arguments that cannot be parsed, and an unknown call, never reach the action', async () => {
  const echo = new Echo(() => expect.fail('it ran'));
  expect(await echo.call('nope')).toMatchObject({
    args: { inputs: 'nope', name: 'run' },
    errmsg: 'invalid json format: nope',
    state: ActionStatusCode.ARGS_ERROR,
  });
  expect(await echo.call({ text: 'x' }, 'walk')).toMatchObject({
    args: { inputs: { text: 'x' }, name: 'walk' },
    errmsg: 'invalid API: walk',
    state: ActionStatusCode.API_ERROR,
  });
});

test('L-06 a parser of one’s own reads what an action is called with, and writes what it returns', async () => {
  class Shouting extends BaseParser {
    override parseInputs(inputs: unknown): ActionArguments {
      return { text: String(inputs).toUpperCase() };
    }

    override parseOutputs(outputs: unknown): ActionItem[] {
      return [{ type: 'text', content: `${String(outputs)}!` }];
    }
  }
  expect(await new Echo(({ text }) => text, { parser: Shouting }).call('hi')).toMatchObject({
    args: { text: 'HI' },
    result: [{ type: 'text', content: 'HI!' }],
  });
});

test('a fault of a parser itself is thrown', async () => {
  class Broken extends BaseParser {
    override parseInputs(): ActionArguments {
      throw new RangeError('broken parser');
    }
  }
  await expect(new Echo(() => 1, { parser: Broken }).call('x')).rejects.toThrow('broken parser');
});

test('L-07 a disabled action is hidden and refused until it is enabled', async () => {
  const echo = new Echo(({ text }) => text, { enable: false });
  const executor = new ActionExecutor([echo]);
  expect([executor.isValid('Echo'), executor.actionNames(), executor.actionNames(false)]).toEqual([
    false,
    [],
    ['Echo'],
  ]);
  expect(executor.getActionsInfo()).toEqual([]);
  expect(await executor.call('Echo', { text: 'x' })).toMatchObject({ type: 'InvalidAction' });
  echo.enable = true;
  expect(executor.action_names()).toEqual(['Echo']);
  expect(await executor.call('Echo', { text: 'x' })).toMatchObject({ type: 'Echo', valid: ActionValidCode.OPEN });
});

test('L-47 each call of a toolkit has its own name, and reaches its own code', async () => {
  const api_list = [
    { ...ECHO, name: 'say' },
    { ...ECHO, name: 'shout' },
  ];
  const kit = new Echo(({ text }, api) => `${api} ${String(text)}`, {
    description: { ...ECHO, api_list },
    parser: TupleParser,
  });
  const executor = new ActionExecutor(kit);
  expect(kit.isToolkit).toBe(true);
  expect(executor.get_actions_info().map(({ name }) => name)).toEqual(['Echo.say', 'Echo.shout']);
  expect(executor.getActionsInfo()[0]?.parameter_description).toContain('tuple format');
  expect((await executor.call('Echo.shout', '("x",)')).formatResult()).toBe('shout x');
  expect(await executor.call('Echo.run', '("x",)')).toMatchObject({ errmsg: 'invalid API: run' });
  expect(await executor.call('Echo', '("x",)')).toMatchObject({ errmsg: 'invalid API: run' });
});

test('L-47 U-52 a name that does not exist, no action and finishing are answered by actions of their own', async () => {
  const executor = new ActionExecutor([]);
  expect(await executor.call('Nope', 'x')).toMatchObject({
    type: 'InvalidAction',
    errmsg: 'The action is invalid, please check the action name.',
    valid: ActionValidCode.INVALID,
    state: ActionStatusCode.API_ERROR,
  });
  expect(await executor.call('NoAction', 'my words')).toMatchObject({ type: 'NoAction', errmsg: 'my words' });
  expect(await executor.call('NoAction', '')).toMatchObject({ errmsg: 'Please follow the format' });
  const finished = await executor.call('FinishAction', 'done');
  expect([finished.formatResult(), finished.valid]).toEqual(['done', ActionValidCode.FINISH]);
});

test('L-47 U-52 finishing is offered to models only on request, and then still finishes', async () => {
  expect(new ActionExecutor(repeat()).actionNames()).toEqual(['Echo']);
  for (const options of [{ finishInAction: true }, { finish_in_action: true }]) {
    const executor = new ActionExecutor(repeat(), options);
    expect(executor.actionNames()).toEqual(['Echo', 'FinishAction']);
    expect((await executor.call('FinishAction', 'x')).valid).toBe(ActionValidCode.FINISH);
  }
});

test('L-47 U-52 the answering actions can be replaced, in both spellings', async () => {
  const [invalid, none, finish] = [new InvalidAction('bad name'), new NoAction('say it'), new FinishAction()];
  for (const options of [
    { invalidAction: invalid, noAction: none, finishAction: finish },
    { invalid_action: invalid, no_action: none, finish_action: finish },
  ]) {
    const executor = new ActionExecutor([], options);
    expect((await executor.call('x', '')).errmsg).toBe('bad name');
    expect((await executor.call('NoAction', null)).errmsg).toBe('say it');
  }
  expect(() => new ActionExecutor([], { invalidAction: {} as never })).toThrow(/must be an action/);
  expect(() => new ActionExecutor([], { finishinaction: true } as never)).toThrow(/finishinaction/);
});

test('actions are added, replaced and removed by name', async () => {
  const executor = new ActionExecutor([]);
  executor.addAction(repeat());
  executor.add_action(new Echo(() => 'second'));
  expect((await executor.call('Echo', { text: 'x' })).format_result()).toBe('second');
  executor.delAction('Echo');
  executor.del_action('Echo');
  expect([executor.is_valid('Echo'), executor.actionNames(false)]).toEqual([false, []]);
});

test('L-35 items become one text: text as it is, all else as links', () => {
  const result = [
    { type: 'text', content: 'a' },
    { type: 'image', content: '/b.png' },
    { type: 'file', content: '/c.json' },
  ];
  expect(new ActionReturn({ result }).formatResult()).toBe('a\n[image](/b.png)\n[file](/c.json)');
  expect(new ActionReturn().format_result()).toBe('');
});

/** What a program can import: its own files of any name, and nothing of ours but one package. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHost, type Host, type HostOptions } from '../../src/index.ts';
import { installJupyter, TestJupyterServer } from '../support/jupyter-server.ts';

const OUR_OLD_NAMES = [
  'record stage disk wire cell show init watch encode confine tests locks',
  'zygote worker values display payloads enclosure analyze kernel effects',
].flatMap((names) => names.split(' '));
const installation = await installJupyter();

interface Place {
  readonly host: Host;
  close(): Promise<void>;
}

const PLACES: Record<string, () => Promise<Place>> = {
  'in a session with namespaces': () => startHere({ isolation: 'namespaces' }),
  'in a session without walls': () => startHere({ isolation: 'none' }),
  ...('python' in installation && { 'in a Jupyter kernel': () => startOnJupyter(installation.python) }),
};

for (const [name, start] of Object.entries(PLACES)) {
  describe(`${name},`, () => {
    let place: Place;
    let host: Host;
    beforeAll(async () => {
      place = await start();
      ({ host } = place);
    });
    afterAll(() => place?.close());

    test('no module of ours can be imported by its own name', async () => {
      await using session = await host.createSession();
      const { logs } = await session.runCode(`import importlib
for name in ${JSON.stringify(OUR_OLD_NAMES)}:
    try:
        importlib.import_module(name)
        print(name)
    except ModuleNotFoundError:
        pass`);
      expect(logs.stdout).toBe('');
    });

    test('the only name of ours among the loaded modules is that of our package', async () => {
      await using session = await host.createSession();
      const { logs } = await session.runCode(`import sys
own = [name for name, module in sys.modules.items() if 'vivarium' in str(getattr(module, '__file__', '')) and 'site-packages' not in module.__file__ and '/lib/python' not in module.__file__]
print(sorted({name.partition('.')[0] for name in own}))
print([path for path in sys.path if path.rstrip('/').endswith('/python')])
print(sys.modules['__main__'].__dict__ is globals())`);
      expect(logs.stdout).toBe("['_vivarium']\n[]\nTrue\n");
    });

    test.for(['record', 'cell', 'show', 'stage', 'wire'])('a file called %s.py is imported', async (module) => {
      await using session = await host.createSession();
      await session.files.upload(`${module}.py`, 'whose = "mine"\n');
      const { value } = await session.runCode(`import ${module}\nwhose = ${module}.whose`, {
        resultVariable: 'whose',
      });
      expect(value).toBe('mine');
    });

    test('a file that is uploaded again is imported again, and so is what imports it', async () => {
      await using session = await host.createSession();
      await session.files.upload('helper.py', 'import deeper\nanswer = deeper.answer\n');
      await session.files.upload('deeper.py', 'answer = 1\n');
      const ask = { resultVariable: 'answer' };
      const code = 'import helper\nanswer = helper.answer';
      expect((await session.runCode(code, ask)).value).toBe(1);
      await session.files.upload('deeper.py', 'answer = 2\n');
      expect((await session.runCode(code, ask)).value).toBe(2);
    });

    test('a module keeps its state as long as its file does not change', async () => {
      await using session = await host.createSession();
      await session.files.upload('counter.py', 'count = 0\n');
      for (let run = 0; run < 3; run += 1) await session.runCode('import counter\ncounter.count += 1');
      const { value } = await session.runCode('count = counter.count', { resultVariable: 'count' });
      expect(value).toBe(3);
    });

    test('a package without an __init__ is imported again when a file of it has changed', async () => {
      await using session = await host.createSession();
      const code = `import os
os.makedirs('lab/tools', exist_ok=True)
open('lab/tools/part.py', 'w').write('answer = VALUE')`;
      await session.runCode(code.replace('VALUE', '1'));
      await session.runCode('from lab.tools import part');
      await session.runCode(code.replace('VALUE', '2'));
      const { value } = await session.runCode('from lab.tools import part\nanswer = part.answer', {
        resultVariable: 'answer',
      });
      expect(value).toBe(2);
    });

    test('a file that is written right after a failed import is found', async () => {
      await using session = await host.createSession();
      const { logs } = await session.runCode(`for number in range(50):
    name = f'late{number}'
    try:
        __import__(name)
    except ModuleNotFoundError:
        open(f'{name}.py', 'w').write('')
    __import__(name)
print('found')`);
      expect(logs.stdout).toBe('found\n');
    });

    test('changes that follow each other at once are all seen', async () => {
      await using session = await host.createSession();
      for (let round = 0; round < 10; round += 1) {
        await session.runCode(`open('quick.py', 'w').write('answer = ${round}')`);
        const { value } = await session.runCode('import quick\nanswer = quick.answer', { resultVariable: 'answer' });
        expect(value).toBe(round);
      }
    });

    test('a file that is gone cannot be imported any more', async () => {
      await using session = await host.createSession();
      await session.runCode("open('short.py', 'w').write('')\nimport short");
      await session.runCode("import os; os.remove('short.py')");
      const { error } = await session.runCode('import short');
      expect(error?.name).toBe('ModuleNotFoundError');
    });
  });
}

test('the state of a module outlives a crash, and a rollback brings back the module of before', async () => {
  await using host = await createHost({ poolSize: 0 });
  await using session = await host.createSession();
  const ask = { resultVariable: 'answer' };
  const code = 'import helper\nanswer = helper.answer';
  await session.files.upload('helper.py', 'answer = 1\n');
  await session.runCode(`${code}\nhelper.answer = 10`);
  const crash = await session.runCode('import os; os.abort()');
  expect(crash.state.status).toBe('restored');
  expect((await session.runCode(code, ask)).value).toBe(10);

  await session.runCode("open('helper.py', 'w').write('answer = 2')");
  await session.rollback();
  expect((await session.runCode(code, ask)).value).toBe(10); // the file is older again, and the module is that of then

  await session.runCode("open('helper.py', 'w').write('answer = 3')");
  expect((await session.runCode(code, ask)).value).toBe(3);
});

test.runIf('problem' in installation)('a Jupyter server can be installed', (context) => {
  const reason = 'problem' in installation ? installation.problem : '';
  if (process.env['CI'] !== 'true') context.skip(`IMPORTS IN A KERNEL ARE NOT TESTED: ${reason}`);
  expect.fail(reason);
});

async function startHere(options: HostOptions): Promise<Place> {
  const host = await createHost({ poolSize: 0, ...options });
  return { host, close: () => host.close() };
}

async function startOnJupyter(python: string): Promise<Place> {
  const server = await TestJupyterServer.start(python);
  const host = await createHost({ engine: { jupyter: server.access } });
  return {
    host,
    close: async () => {
      await host.close();
      await server.close();
    },
  };
}

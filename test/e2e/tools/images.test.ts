/** Figures of real runs, as tools give them to models that can see. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  CodeInterpreterTool,
  IPythonInterpreter,
  PythonInterpreterToolSet,
  PythonREPLTool,
  UNCONFINED,
  type Tool,
} from '../../../src/tools.ts';

const TWO_FIGURES = `import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.show()
plt.bar([1, 2], [3, 4])
plt.savefig("bars.png")
plt.show()`;

const stack = new AsyncDisposableStack();
let workDir: string;
beforeAll(async () => {
  workDir = await mkdtemp(path.join(tmpdir(), 'vivarium-images-'));
});
afterAll(async () => {
  await stack.disposeAsync();
  await rm(workDir, { recursive: true, force: true });
});

const TOOLS: Readonly<Record<string, { readonly make: () => Tool | undefined; readonly argument: string }>> = {
  CodeInterpreterTool: { make: () => stack.use(new CodeInterpreterTool({ timeout: 30 })), argument: 'code' },
  PythonREPLTool: {
    make: () => {
      process.chdir(workDir); // it runs in the directory of this program
      return stack.use(new PythonREPLTool({ unconfined: UNCONFINED, timeout: 30 }));
    },
    argument: 'code',
  },
  PythonInterpreterToolSet: {
    make: () => stack.use(new PythonInterpreterToolSet({ name: 'python', workdir: false })).tools()[0],
    argument: 'code',
  },
  IPythonInterpreter: { make: () => stack.use(new IPythonInterpreter({ workDir })).toTool(), argument: 'command' },
};

test.for(Object.entries(TOOLS))('%s gives the figures of a run once each, and none without', async ([, tool]) => {
  const python = tool.make();
  const drawn = await python?.call({ [tool.argument]: TWO_FIGURES });
  const pictures = drawn?.images ?? [];
  expect(pictures.map(({ mimeType }) => mimeType)).toEqual(['image/png', 'image/png']);
  for (const { data } of pictures) expect(Buffer.from(data, 'base64').subarray(1, 4).toString()).toBe('PNG');
  expect(new Set(pictures.map(({ data }) => data)).size).toBe(2);
  const plain = await python?.call({ [tool.argument]: 'print(1)' });
  expect(plain).toMatchObject({ isError: false });
  expect(plain).not.toHaveProperty('images');
});

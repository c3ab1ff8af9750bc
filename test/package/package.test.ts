/** What somebody gets who installs the package: its size, what works in it, and what it says where something is missing. */
import assert from 'node:assert/strict';
import { globSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OpenAIServer } from '../support/openai-server.ts';
import { InstalledPackage, type Ended } from './installed.ts';
import { startModelServer } from './model-server.ts';
import { OLDER_NODES, unpackNode } from './older-node.ts';
import { CHAT_COMPLETIONS, MESSAGES, PLOT, RESPONSES } from './scripts.ts';

const SET_UP_TIMEOUT_MS = 300_000;
const PROGRAMS = path.join(import.meta.dirname, 'programs');
const PNG_IN_BASE64 = /^iVBORw0KGgo/u;

let installed: InstalledPackage;

beforeAll(async () => {
  installed = await InstalledPackage.create();
}, SET_UP_TIMEOUT_MS);
afterAll(() => installed?.[Symbol.asyncDispose]());

/** The last line of what a program printed, which is JSON. */
function printedBy({ exitCode, stdout, stderr }: Ended): unknown {
  assert.equal(exitCode, 0, stderr);
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
}

describe('in an empty project,', () => {
  test('the package takes less than 10 MB of the disk and brings no other', () => {
    const files = globSync('**/*', { cwd: installed.modules }).map((name) => path.join(installed.modules, name));
    const bytes = files.reduce((sum, file) => sum + lstatSync(file).blocks * 512, 0);
    const packages = globSync(['*/package.json', '@*/*/package.json'], { cwd: installed.modules });
    expect(bytes).toBeLessThan(10_000_000);
    expect(bytes).toBeGreaterThan(2_000_000); // it was measured at all
    expect(packages).toEqual(['vivarium/package.json']);
  });

  test('the library and the tools work, imported and required', async () => {
    const code = `
      const host = await createHost({ poolSize: 0 });
      const { logs } = await host.runCode('print(6 * 7)');
      const tool = new CodeInterpreterTool({ host });
      const { output } = await tool.run({ code: 'print(6 * 8)' });
      await host.close();
      console.log(JSON.stringify([logs.stdout, JSON.parse(output).stdout]));`;
    await installed.write(
      'library.mjs',
      `import { createHost } from 'vivarium';\nimport { CodeInterpreterTool } from 'vivarium/tools';${code}`,
    );
    await installed.write(
      'library.cjs',
      `const { createHost } = require('vivarium');\nconst { CodeInterpreterTool } = require('vivarium/tools');
       (async () => {${code}})();`,
    );
    for (const file of ['library.mjs', 'library.cjs']) {
      expect(printedBy(await installed.run([file]))).toEqual(['42\n', '48\n']);
    }
  });

  test('the command line runs programs, agents and tasks', async () => {
    expect(await installed.vivarium(['run', '-c', 'print(6 * 7)'])).toMatchObject({ exitCode: 0, stdout: '42\n' });
    await using server = await OpenAIServer.start([
      { calls: [{ name: 'run_python_code', arguments: { code: 'print(6 * 7)' } }] },
      { text: 'It is 42.' },
    ]);
    const { exitCode, stdout } = await installed.vivarium(['agent', 'What is it?'], { env: server.environment });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'It is 42.\n' });
    await installed.write('task.py', 'results = {"answer": 6 * 7}\n');
    const task = await installed.vivarium(['task', 'Compute', '--code', 'task.py', '--yes', '--json']);
    expect(task.exitCode, task.stderr).toBe(0);
    expect(task.stdout).toContain('"answer": 42');
  });

  test.for(['vivarium/agent', 'vivarium/service'])(
    '%s says what to install, imported and required, and works when that is done',
    { timeout: SET_UP_TIMEOUT_MS },
    async (name) => {
      const report = '(error) => console.log(JSON.stringify([error.name, error.code, error.message]))';
      await installed.write('imported.mjs', `await import('${name}').catch(${report});`);
      await installed.write('required.cjs', `try { require('${name}') } catch (error) { (${report})(error) }`);
      const reports = [await installed.run(['imported.mjs']), await installed.run(['required.cjs'])].map(printedBy);
      const [kind, code, message = ''] = reports[0] as string[];
      expect(reports[1]).toEqual(reports[0]);
      expect([kind, code]).toEqual(['VivariumError', 'PACKAGE_MISSING']);
      const said =
        /^(?<part>\S+) needs packages that are not installed with Vivarium\. Run: npm install (?<names>.*)$/u;
      const { part, names = '' } = said.exec(message)?.groups ?? {};
      expect(part).toBe(name);
      const packages = names.split(' ').map((item) => item.slice(0, item.lastIndexOf('@')));
      const project = await installed.beside(name.replace('/', '-'), packages);
      await project.write('works.mjs', `import * as part from '${name}';\nconsole.log(Object.keys(part).length);`);
      expect(printedBy(await project.run(['works.mjs']))).toBeGreaterThan(10);
    },
  );

  test('toLangChainTool says what to install', async () => {
    await installed.write(
      'langchain.mjs',
      `import { toLangChainTool } from 'vivarium/tools';
       await toLangChainTool({}).catch((error) => console.log(JSON.stringify([error.code, error.message])));`,
    );
    const [code, message] = printedBy(await installed.run(['langchain.mjs'])) as string[];
    expect(code).toBe('PACKAGE_MISSING');
    expect(message).toContain('Run: npm install @langchain/core@~1');
  });

  test('an agent with a model of its own needs no package of OpenAI, and OpenAILLM says that it does', async () => {
    const project = await installed.beside('agent-project', ['@langchain/core']);
    await project.write(
      'agent.mjs',
      `import { OpenAILLM } from 'vivarium/agent';
       const model = new OpenAILLM({ model: 'm', baseUrl: 'http://127.0.0.1:1/v1' });
       await model.connect().catch((error) => console.log(JSON.stringify([error.code, error.message])));`,
    );
    const [code, message] = printedBy(await project.run(['agent.mjs'])) as string[];
    expect(code).toBe('PACKAGE_MISSING');
    expect(message).toContain('Run: npm install @langchain/core@~1.2.13 @langchain/openai@~1.6.0');
  });
});

describe.each(OLDER_NODES)('on Node %s', (version) => {
  test('the library and the command line say which Node they need', { timeout: SET_UP_TIMEOUT_MS }, async (context) => {
    const node = await unpackNode(version).catch((error: unknown) => {
      if (process.env['CI'] === 'true') throw error;
      return context.skip(`NODE ${version} IS NOT TESTED: ${String(error)}`);
    });
    await using _ = node;
    const needed = `vivarium needs Node 24 or later, but this is Node ${version}. Install a newer one`;
    for (const name of ['vivarium', 'vivarium/tools', 'vivarium/agent', 'vivarium/service']) {
      await installed.write('old.mjs', `import '${name}';`);
      await installed.write('old.cjs', `require('${name}');`);
      for (const file of ['old.mjs', 'old.cjs']) {
        const { exitCode, stderr } = await installed.run([file], { node: node.executable });
        expect(exitCode).toBe(1);
        expect(stderr).toContain(`Error: ${needed}`);
        expect(stderr).not.toContain('SyntaxError');
      }
    }
    const { exitCode, stderr } = await installed.vivarium(['run', '-c', '1'], { node: node.executable });
    expect(exitCode).toBe(1);
    expect(stderr.startsWith(needed)).toBe(true);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });
});

describe('with the packages of providers, in an ordinary strict project,', () => {
  const PACKAGES = ['ai', 'openai', '@anthropic-ai/sdk', '@modelcontextprotocol/sdk', '@langchain/core'];
  let project: InstalledPackage;

  beforeAll(async () => {
    project = await installed.beside('typed-project', PACKAGES);
    for (const name of readdirSync(PROGRAMS))
      await project.write(name, readFileSync(path.join(PROGRAMS, name), 'utf8'));
  });

  test('the programs for all of them compile', async () => {
    expect(await project.typeCheck()).toBe('');
  });

  test('a definition with a wrong key does not compile', async () => {
    await project.write(
      'wrong.ts',
      `import type OpenAI from 'openai';\nimport { toAnthropicTool, type ToolDefinition } from 'vivarium/tools';
       export const wrong = (definition: ToolDefinition): OpenAI.ChatCompletionTool => toAnthropicTool(definition);`,
    );
    expect(await project.typeCheck()).toContain('wrong.ts');
    await project.write('wrong.ts', 'export {};');
  });

  test('a model of the chat completions API gets the texts', async () => {
    await using server = await startModelServer(CHAT_COMPLETIONS);
    const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'key' };
    printedBy(await project.run(['openai-chat.ts'], { env }));
    expect(server.requests[0]).toMatchObject({
      path: '/chat/completions',
      body: {
        tools: [{ type: 'function', function: { name: 'code_interpreter', parameters: { required: ['code'] } } }],
      },
    });
    expect(server.requests[2]?.body).toMatchObject({
      messages: [
        { role: 'user' },
        { role: 'assistant' },
        { role: 'tool', tool_call_id: 'c0', content: expect.stringContaining('42') as string },
        { role: 'assistant' },
        { role: 'tool', tool_call_id: 'c1', content: expect.stringContaining('ZeroDivisionError') as string },
      ],
    });
  });

  test('a model of the Responses API gets pictures', async () => {
    await using server = await startModelServer(RESPONSES);
    const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'key' };
    printedBy(await project.run(['openai-responses.ts'], { env }));
    expect(server.requests[0]).toMatchObject({ path: '/responses', body: { tools: [{ name: 'code_interpreter' }] } });
    expect(server.requests[2]?.body).toMatchObject({
      input: [
        { role: 'user' },
        { type: 'function_call' },
        {
          type: 'function_call_output',
          call_id: 'c0',
          output: [
            { type: 'input_text', text: expect.stringContaining('42') as string },
            { type: 'input_image', image_url: expect.stringMatching(/^data:image\/png;base64,iVBORw0KGgo/u) as string },
          ],
        },
        { type: 'function_call' },
        { call_id: 'c1', output: expect.stringContaining('ZeroDivisionError') as string },
      ],
    });
  });

  test('a model of Anthropic gets pictures, and is told which call failed', async () => {
    await using server = await startModelServer(MESSAGES);
    printedBy(
      await project.run(['anthropic.ts'], { env: { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: 'key' } }),
    );
    expect(server.requests[0]).toMatchObject({
      path: '/v1/messages',
      body: { tools: [{ name: 'code_interpreter', input_schema: { type: 'object' } }] },
    });
    const source = { type: 'base64', media_type: 'image/png', data: expect.stringMatching(PNG_IN_BASE64) as string };
    const text = { type: 'text', text: expect.stringContaining('42') as string };
    const failure = [{ type: 'text', text: expect.stringContaining('ZeroDivisionError') as string }];
    expect(server.requests[2]?.body).toMatchObject({
      messages: [
        { role: 'user' },
        { role: 'assistant' },
        { content: [{ tool_use_id: 'c0', is_error: false, content: [text, { type: 'image', source }] }] },
        { role: 'assistant' },
        { content: [{ tool_use_id: 'c1', is_error: true, content: failure }] },
      ],
    });
  });

  test('a model of the AI SDK gets pictures, and is told which call failed', async () => {
    const { text, output, schema, prompt } = printedBy(await project.run(['ai-sdk.ts'])) as Record<string, unknown>;
    expect(text).toBe('done');
    expect(output).toMatchObject({ isError: false, images: [{ mimeType: 'image/png' }] });
    expect(schema).toMatchObject([{ name: 'code_interpreter', inputSchema: { required: ['code'] } }]);
    const data = { data: expect.stringMatching(PNG_IN_BASE64) as string };
    const value = [{ text: expect.stringContaining('42') as string }, { mediaType: 'image/png', data }];
    const failure = { type: 'error-text', value: expect.stringContaining('ZeroDivisionError') as string };
    expect(prompt).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool', content: [{ toolCallId: 'c1', output: { type: 'content', value } }] },
      { role: 'assistant' },
      { role: 'tool', content: [{ toolCallId: 'c2', output: failure }] },
    ]);
  });

  test('an MCP client gets tools, text, pictures and whether a call failed', async () => {
    const image = { type: 'image', mimeType: 'image/png', data: expect.stringMatching(PNG_IN_BASE64) as string };
    expect(printedBy(await project.run(['mcp.ts']))).toMatchObject({
      tools: [{ name: 'code_interpreter', inputSchema: { required: ['code'] }, annotations: { readOnlyHint: false } }],
      plot: { isError: false, content: [{ type: 'text', text: expect.stringContaining('42') as string }, image] },
      failed: { isError: true, content: [{ text: expect.stringContaining('ZeroDivisionError') as string }] },
    });
  });

  test('a model of LangChain gets pictures, and is told which call failed', async () => {
    expect(printedBy(await project.run(['langchain.ts']))).toMatchObject([
      { content: 'Plot it.' },
      { tool_calls: [{ args: { code: PLOT } }] },
      {
        tool_call_id: 'c1',
        status: 'success',
        content: [
          { type: 'text', text: expect.stringContaining('42') as string },
          { image_url: { url: expect.stringMatching(/^data:image\/png;base64,/u) as string } },
        ],
      },
      { tool_calls: [{ args: { code: '1 / 0' } }] },
      { tool_call_id: 'c2', status: 'error' },
      { content: 'done' },
    ]);
  });
});

/** `npm run docs:check`: everything that README.md and docs/*.md show is run as it is written. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHost, type Host } from '../../src/index.ts';
import { loadConfiguration } from '../../src/service.ts';
import { installE2bSdk } from '../support/e2b-sdk.ts';
import { installJupyter, TestJupyterServer } from '../support/jupyter-server.ts';
import { OpenAIServer } from '../support/openai-server.ts';
import { askForPostgres, createDatabase } from '../support/postgres/postgres.ts';
import { Wheelhouse } from '../support/wheelhouse.ts';
import { hasLines, matchesOutput, promisedLines } from './expected.ts';
import { answer } from './model.ts';
import { anchorsOf, cellsOf, isServed, linksOf, readPages, ROOT, type Page, type Snippet } from './pages.ts';
import { Project, type Printed } from './project.ts';

const PAGE_TIMEOUT_MS = 300_000;
const LONGEST_CELL = 120;

const pages = readPages();

/** Variables that lead snippets to servers which may be missing on this machine, and why they are. */
const missing = new Map<string, string>();

describe('The programs of', () => {
  const stack = new AsyncDisposableStack();
  let project: Project;
  let host: Host;

  beforeAll(async () => {
    const model = stack.use(await OpenAIServer.start(answer));
    const servers = { ...model.environment, ...(await jupyter(stack)), ...(await postgres()) };
    const variables = { ...servers, ...(await packageIndex(stack)) };
    project = stack.use(await Project.create(variables));
    await addE2bSdk(project);
    host = stack.use(await createHost({ dataDir: await project.makeDataDirectory('python') }));
  }, PAGE_TIMEOUT_MS);
  afterAll(() => stack.disposeAsync());

  test('all pages type-check', async () => {
    expect(await project.typeCheck(pages)).toBe('');
  });

  for (const page of pages.filter(({ snippets }) => snippets.length > 0)) {
    test.concurrent(`${page.file} run and print what it shows`, { timeout: PAGE_TIMEOUT_MS }, async (context) => {
      if (isServed(page)) await project.serve(page);
      const problems: string[] = [];
      const skipped: string[] = [];
      for (const snippet of page.snippets) {
        const lacking = [...missing].find(([variable]) => snippet.code.includes(variable));
        if (lacking !== undefined) skipped.push(`line ${snippet.line}: ${lacking[1]}`);
        else problems.push(...problemsOf(page, snippet, await run(page, snippet)));
      }
      expect(problems.join('\n')).toBe('');
      if (skipped.length > 0) context.skip(`NOT RUN: ${skipped.join('; ')}`);
    });
  }

  async function run(page: Page, snippet: Snippet): Promise<Printed> {
    switch (snippet.language) {
      case 'ts':
        return project.runTypeScript(page, snippet);
      case 'sh':
        return project.runShell(page, snippet);
      case 'python':
        return isServed(page) ? project.runPython(page, snippet) : runPython(host, page, snippet);
      case 'yaml':
        return parsed(() => loadConfiguration({ text: snippet.code, environment: { JUPYTER_TOKEN: 'token' } }));
      case 'json':
        return parsed(() => JSON.parse(snippet.code) as unknown);
    }
  }
});

describe.each(pages)('$file', (page) => {
  test(`has no table cell of more than ${LONGEST_CELL} characters`, () => {
    expect(cellsOf(page.text).filter(({ cell }) => cell.length > LONGEST_CELL)).toEqual([]);
  });

  test('links to pages and headings that exist', () => {
    for (const link of linksOf(page.text)) {
      const [target = '', anchor] = link.split('#');
      const file = target === '' ? path.join(ROOT, page.file) : path.resolve(ROOT, path.dirname(page.file), target);
      assert.ok(existsSync(file), `${link} does not exist`);
      if (anchor !== undefined) assert.ok(anchorsOf(readFileSync(file, 'utf8')).has(anchor), `${link} has no heading`);
    }
  });
});

test('every page in docs begins with an example', () => {
  for (const { file, text } of pages.filter(({ name }) => name !== 'readme')) {
    const beforeCode = text.slice(0, text.indexOf('\n```'));
    assert.ok(text.includes('\n```') && !beforeCode.includes('\n## ') && !beforeCode.includes('\n|'), file);
  }
});

/** What is wrong with a snippet, in words. */
function problemsOf(page: Page, { line, code, output }: Snippet, printed: Printed): string[] {
  const where = `${page.file}:${line}`;
  if (printed.exitCode !== 0)
    return [`${where} ended with exit code ${printed.exitCode}:\n${printed.output}${printed.errors}`];
  if (output !== undefined && !matchesOutput(printed.output, output))
    return [`${where} shows:\n${output}but printed:\n${printed.output}`];
  const promised = promisedLines(code);
  return hasLines(printed.output, promised)
    ? []
    : [`${where} promises:\n${promised.join('\n')}\nbut printed:\n${printed.output}${printed.errors}`];
}

/** In the session of its page. */
async function runPython(host: Host, page: Page, { code }: Snippet): Promise<Printed> {
  const { logs, results, error } = await host.runCode(code, { clientId: page.file });
  const shown = results.map(({ data }) => data['text/plain']).join('\n');
  return { exitCode: error ? 1 : 0, output: logs.stdout + shown, errors: error?.traceback ?? '' };
}

/** Data runs if it can be read. YAML on the pages is configuration of the service. */
async function parsed(parse: () => unknown): Promise<Printed> {
  await parse();
  return { exitCode: 0, output: '', errors: '' };
}

async function jupyter(stack: AsyncDisposableStack): Promise<Record<string, string>> {
  const installation = await installJupyter();
  if ('problem' in installation) return absent('JUPYTER_URL', installation.problem);
  const { access } = stack.use(await TestJupyterServer.start(installation.python));
  return { JUPYTER_URL: access.url, JUPYTER_TOKEN: access.token };
}

/** `python` of the pages is one that has E2B's SDK. */
async function addE2bSdk(project: Project): Promise<void> {
  const installation = await installE2bSdk();
  if ('problem' in installation) absent('e2b_code_interpreter', installation.problem);
  else await project.addCommand('python', installation.python);
}

/** Stands for the packages that pages install. */
async function packageIndex(stack: AsyncDisposableStack): Promise<Record<string, string>> {
  const root = await mkdtemp(path.join(tmpdir(), 'vivarium-docs-index-'));
  stack.defer(() => rm(root, { recursive: true, force: true }));
  const house = await Wheelhouse.open(root);
  await house.add({ name: 'shapely', version: '2.1.2' });
  return house.index;
}

async function postgres(): Promise<Record<string, string>> {
  const answered = await askForPostgres();
  if ('missing' in answered) return absent('DATABASE_URL', answered.missing);
  return { DATABASE_URL: await createDatabase(answered.url) };
}

function absent(variable: string, reason: string): Record<string, string> {
  if (process.env['CI'] === 'true') assert.fail(`${variable} must be there in CI: ${reason}`);
  missing.set(variable, reason);
  return {};
}

/** Thousands of generated requests, made from the server's own description of itself: nothing fails, and no answer differs from it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { run, scrubEnvironment } from '../../../src/environment/command.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import { installBeside, type Installation } from '../../../tools/side-environment.ts';
import { serve, type Ask } from './served.ts';

const SECONDS = 45;
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];

const installation = await install();

test('the server does what its OpenAPI document says', { timeout: 180_000 }, async (context) => {
  if ('problem' in installation) {
    if (process.env['CI'] === 'true') throw new Error(installation.problem);
    context.skip(`THE OPENAPI DOCUMENT IS NOT TESTED: ${installation.problem}`);
    return;
  }
  await using served = await serve();
  const client = await served.clientOf('schemathesis', { requestsPerSecond: null });
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(path.join(tmpdir(), 'viv-schemathesis-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const config = path.join(directory, 'schemathesis.toml');
  await writeFile(config, configOf(client.secret, await furnish(client)));
  const limits = ['--max-time', String(SECONDS), '--request-timeout', '20', '--workers', '2', '--seed', '15'];
  const scope = [
    '--phases',
    'examples,coverage,fuzzing',
    '--max-examples',
    '20',
    '--exclude-operation-id',
    'closeSession',
  ];
  const program = [installation.python, '-m', 'schemathesis.cli', '--config-file', config];
  const checks = [
    'run',
    `${served.url}/openapi.json`,
    '--checks',
    CHECKS.join(','),
    '--no-shrink',
    '--warnings',
    'off',
  ];
  const { output, errors } = await run([...program, ...checks, ...limits, ...scope], {
    env: scrubEnvironment(process.env),
    cwd: directory,
    timeoutMs: 150_000,
  });
  const text = `${output}\n${errors}`;
  // Python 3.11 cannot generate some deep values; such an error is not about the server.
  expect(text.slice(text.indexOf('= FAILURES ='))).not.toContain('Test Case ID');
  expect(text.slice(text.indexOf('= ERRORS ='))).not.toContain('Network Error');
  expect(Number(/(\d+) generated/.exec(output)?.[1] ?? 0), text.slice(-3000)).toBeGreaterThan(500);
  expect(await client('GET', '/v1/sessions')).toMatchObject({ status: 200 });
});

/** Things that exist, so that routes with an id have more to say than that nothing was found. */
async function furnish(ask: Ask): Promise<Readonly<Record<string, string>>> {
  const make = async <T>(where: string, body: unknown): Promise<T & { id: string }> =>
    (await ask('POST', where, { body })).body as T & { id: string };
  const { id: sessions } = await make('/v1/sessions', {});
  const code = 'import pandas; table = pandas.DataFrame({"a": [1]}); open("own.txt", "w").write("x"); 1';
  const ended = await make<{ files: { id: string }[] }>(`/v1/sessions/${sessions}/runs`, { code });
  const { id: commands } = await make(`/v1/sessions/${sessions}/commands`, { argv: ['true'], background: true });
  const objective = { taskObjective: 'x', approvedCode: 'results = {}' };
  const task = await make<{ approval: { id: string } }>('/v1/tasks', objective);
  const { id: runs, files } = ended;
  return { sessions, runs, artifacts: files[0]?.id ?? '', commands, tasks: task.id, approvals: task.approval.id };
}

function configOf(key: string, ids: Readonly<Record<string, string>>): string {
  const known = Object.entries(ids).map(([kind, id]) =>
    ['[[operations]]', `include-path-regex = "^/v1/${kind}/"`, `parameters = { "path.id" = "${id}" }`].join('\n'),
  );
  return [`headers = { Authorization = "Bearer ${key}" }`, ...known].join('\n\n');
}

async function install(): Promise<Installation> {
  const dataDir = defaultDataDir(process.env);
  const sessions = await findEnvironment(dataDir);
  if (sessions === undefined) return { problem: 'no Python environment was set up: run `npm run setup` first' };
  return installBeside({
    name: 'test-schemathesis',
    requirementsFile: path.join(import.meta.dirname, '../../support/schemathesis-requirements.txt'),
    dataDir,
    sessions,
    say: (text) => void process.stderr.write(`${text}\n`),
  });
}

/** A program with sessions on a Jupyter server that closes nothing ends by itself, and its kernels are removed. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { installJupyter, TestJupyterServer } from '../../support/jupyter-server.ts';
import { runProgram } from './program.ts';

const installation = await installJupyter();

const PROGRAM = `
  import { createHost } from 'vivarium';
  const host = await createHost({ engine: { jupyter: JSON.parse(process.env.JUPYTER) } });
  const session = await host.createSession();
  console.log((await session.runCode('import time; time.sleep(1); open("a.txt", "w").write("12"); 6 * 7')).results[0].data);
  console.log((await session.inspect()).length);
`;

test('kernels are removed when a program ends that closes nothing', async ({ skip }) => {
  if ('problem' in installation) return skip(installation.problem);
  await using server = await TestJupyterServer.start(installation.python);
  const ended = await runProgram(`${PROGRAM}console.log('end');`, { env: { JUPYTER: JSON.stringify(server.access) } });
  expect(ended).toMatchObject({ code: 0, stderr: '', leftovers: [] });
  expect(ended.stdout).toContain('42');
  expect(ended.lingeredMs).toBeLessThan(6000); // the server ends a kernel in a second or two
  expect(await server.get('kernels')).toEqual([]);
  expect(readdirSync(server.root)).toEqual([]);
});

test('a program whose server has gone ends all the same', async ({ skip }) => {
  if ('problem' in installation) return skip(installation.problem);
  await using server = await TestJupyterServer.start(installation.python);
  const ended = await runProgram(
    `${PROGRAM}
    const { url, token } = JSON.parse(process.env.JUPYTER);
    await fetch(url + '/api/shutdown', { method: 'POST', headers: { authorization: 'token ' + token } });
    while (await fetch(url + '/api').catch(() => null)) await new Promise((resolve) => setTimeout(resolve, 50));
    console.log('end');`,
    { env: { JUPYTER: JSON.stringify(server.access) } },
  );
  expect(ended).toMatchObject({ code: 0, leftovers: [] });
  expect(ended.lingeredMs).toBeLessThan(6000);
});

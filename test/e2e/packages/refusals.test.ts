/** What cannot be installed: each time the error names the package, and says what can be done. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host, type HostOptions, type Session, type SessionOptions } from '../../../src/index.ts';
import { startIndex, type IndexServer } from '../../support/packages/index-server.ts';
import { makeDataDir } from '../../support/packages/scene.ts';
import { makeWheel } from '../../support/packages/wheel.ts';

let host: Host;
let index: IndexServer;
let settings: HostOptions;
const ends: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  const { dataDir, python, remove } = await makeDataDir();
  ends.push(remove);
  index = await startIndex({
    alpha: [makeWheel({ name: 'alpha', files: { 'alpha.py': '' } })],
    'source-only': [{ filename: 'source_only-1.0.tar.gz', content: Buffer.from('not a wheel') }],
    'old-numpy': [makeWheel({ name: 'old-numpy', requires: ['numpy<1.5'], files: { 'old_numpy.py': '' } })],
    'needs-nothing': [makeWheel({ name: 'needs-nothing', requires: ['no-such-thing'], files: { 'n.py': '' } })],
  });
  ends.push(() => index.close());
  settings = { dataDir, python, preload: [], poolSize: 0, packageIndexes: [index.url] };
  host = await createHost({ ...settings, packages: 'any' });
  ends.push(() => host.close());
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

async function open(options: SessionOptions = {}, on: Host = host): Promise<Session> {
  const session = await on.createSession(options);
  onTestFinished(() => session.close());
  return session;
}

test('what is wrong with a package is told by its name', async () => {
  const session = await open();
  const refused = (name: string): Promise<string> =>
    session.install([name]).then(
      () => 'installed',
      (error: Error & { code: string }) => `${error.code}: ${error.message}`,
    );
  expect(await refused('source-only')).toMatch(
    /^PACKAGE_UNAVAILABLE: "source-only" has no wheel for Python 3\.\d+.*nothing is built here/u,
  );
  expect(await refused('no-such-thing')).toMatch(/There is no package "no-such-thing" on http:.*Check the name/u);
  expect(await refused('needs-nothing')).toMatch(/There is no package "no-such-thing".*\(needs-nothing needs it\)/u);
  expect(await refused('old-numpy')).toMatch(/do not fit what is there already, which stays as it is: .*numpy/u);
  expect(await refused('numpy<1.5')).toMatch(/numpy<1\.5 cannot be installed: numpy==\S+ is there already/u);
  expect(await refused('alpha==9')).toMatch(/There is no version alpha==9 on/u);
  expect(await refused('git+https://example.org/x')).toMatch(/^PACKAGE_REFUSED: .*names an address/u);
  expect((await session.runCode('import sys; print("alpha" in sys.modules)')).packages).toBeUndefined();
});

test('a program is told the same, and cannot ask for anything but names', async () => {
  const session = await open();
  const said = async (line: string): Promise<string> => (await session.runCode(`${line}\n_exit_code`)).logs.stderr;
  expect(await said('!pip install source-only')).toContain('ERROR: "source-only" has no wheel');
  expect(await said('%pip install --index-url http://evil.test/simple alpha')).toContain(
    'the index that the host is configured with',
  );
  expect(await said('%pip install -e .')).toContain('from source');
  expect(await said('%pip install ./alpha')).toContain('is a path');
  expect(await said('%pip install -r /nowhere.txt')).toContain("'/nowhere.txt' cannot be read");
  const raw = await session.runCode(`
import json, os
wish = os.environ["VIVARIUM_PACKAGES"] + "/wishes"
def write(data):
    with open(wish, "wb", buffering=0) as pipe: pipe.write(data)
write(b"\\xff" * 9000 + b"\\n{}\\n[1]\\n" + json.dumps({"id": "../../../x", "requirements": ["alpha"], "isLast": True}).encode() + b"\\n")
write(json.dumps({"id": "0123456789abcdef", "requirements": ["alpha\\n--index-url http://evil.test"], "isLast": True}).encode() + b"\\n")
path = os.environ["VIVARIUM_PACKAGES"] + "/answers/0123456789abcdef.json"
while not os.path.exists(path): pass
print(open(path).read())`);
  expect(raw.logs.stdout).toContain('must be on one line');
  expect((await session.runCode('%pip install alpha')).logs.stdout).toContain('Installed alpha');
});

test('only listed packages can be installed where there is a list, and none by default', async () => {
  await using strict = await createHost({ ...settings });
  const none = await open({}, strict);
  expect((await none.runCode('!pip install alpha\n_exit_code')).logs.stdout).toMatch(/^Nothing can be installed here/u);
  const listed = await open({ packages: ['Alpha'] }, strict);
  const other = await listed.runCode('%pip install alpha source-only');
  expect(other.logs.stderr).toMatch(/source-only is not on the list of packages that may be installed here \(alpha\)/u);
  expect((await listed.runCode('%pip install alpha')).logs.stdout).toContain('Installed alpha');
});

test('an index that cannot be reached is named', async () => {
  await using offline = await createHost({ ...settings, packageIndexes: ['http://127.0.0.1:9/simple'] });
  const session = await open({}, offline);
  await expect(session.install(['alpha'])).rejects.toThrow(
    /The package index cannot be reached \(http:\/\/127\.0\.0\.1:9\/simple\)/u,
  );
});

test('an installation ends with the call, the run and the session that wait for it', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as { port: number };
  await using waiting = await createHost({
    ...settings,
    packages: 'any',
    packageIndexes: [`http://127.0.0.1:${port}/simple`],
  });
  const session = await open({}, waiting);
  const reached = (): Promise<unknown> => once(silent, 'connection');
  const abort = new AbortController();
  const first = session.install(['alpha'], { signal: abort.signal });
  await reached();
  abort.abort(new Error('not any more'));
  await expect(first).rejects.toThrow('not any more');
  const stopped = new AbortController();
  const run = session.runCode('x = 1\n%pip install alpha', { signal: stopped.signal });
  await reached();
  stopped.abort();
  expect((await run).outcome.status).toBe('cancelled');
  expect((await session.runCode('x')).results[0]?.data['text/plain']).toBe('1');
  const last = session.install(['alpha']);
  await reached();
  await session.close();
  await expect(last).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
});

/** Every session is forked from one zygote. Whatever earlier sessions and their callers named must not be in its memory. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, type Host } from '../../src/index.ts';
import { descendants, roleOf } from './engine/processes.ts';

const SEARCH = `
import os

def found(mark):
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    for line in open("/proc/self/maps"):
        place, mode, *rest = line.split()
        if "r" not in mode or rest[-1] in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
            continue
        start, end = (int(text, 16) for text in place.split("-"))
        pieces = os.pread(memory, end - start, start).split(mark)
        yield from (piece[:40] for piece in pieces[1:] if piece[:1].isalnum())
`;
/** More than the zygote forks ahead, and sizes that fit into freed memory of different sizes. */
const SESSIONS = 6;
const MOST_GROWTH_KB = 8 << 10;

let directory: string;
let host: Host;
beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'viv-memory-'));
  host = await createHost({ dataDir: path.join(directory, 'data'), preload: [], poolSize: 0 });
});
afterAll(async () => {
  await host.close();
  rmSync(directory, { recursive: true });
});

/** Text that is found again by its beginning. */
function canary(kind: string, more = 0): string {
  return `canary-of-${kind}-${randomBytes(8).toString('hex')}${'x'.repeat(more)}`;
}

function longPath(kind: string, levels: number): string {
  return Array.from({ length: levels }, () => canary(kind, 190)).join('/');
}

/** A session that has a canary wherever a session or its caller can have a text of its own. */
async function useEverything(size: number): Promise<void> {
  const source = path.join(directory, longPath('source', 2 * size));
  mkdirSync(source, { recursive: true });
  const clientId = canary('client', 50 * size);
  await using session = await host.createSession({
    id: canary('id', 10 * size),
    clientId,
    env: { [`KEY_${canary('variable').replaceAll('-', '_')}`]: canary('value', 700 * size) },
    mounts: [{ source, target: `/${longPath('target', size)}`, writable: size % 2 === 0 }],
    initCode: `init = "${canary('init', 300 * size)}"`,
  });
  await session.files.upload(canary('uploaded', 50), Buffer.from(canary('content', 5000 * size)));
  const paths = ['.', '/tmp', '/dev/shm'].map((place) => `${place}/${longPath('file', 2 * size)}`);
  const code = `import os\nfor each in ${JSON.stringify(paths)}: os.makedirs(each)\nprint("${canary('code', 400 * size)}")`;
  expect((await session.runCode(code, { filename: canary('filename') })).outcome.status).toBe('succeeded');
  await session.runCode('import os; os.kill(os.getpid(), 9)');
  await session.reset();
  await session.runCode(`raise ValueError("${canary('error', 100 * size)}")`);
  const key = { chatId: canary('chat', 20 * size), clientId };
  await host.runCode('1', key);
  const impossible = [{ source, target: `/dev/null/${longPath('problem', size)}` }];
  await host.createSession({ mounts: impossible }).catch(() => undefined);
  await host
    .createSession({ mounts: [{ source: `${source}/${canary('missing')}`, target: '/x' }] })
    .catch(() => undefined);
}

/** Directories with 6 MB of paths, in a run that is long enough to be measured. */
async function haveLongPathsMeasured(): Promise<void> {
  await using session = await host.createSession({ limits: { rollbackMb: 0 } });
  const base = longPath('deep', 14);
  await session.runCode(
    `import os, time\nos.makedirs("${base}")\nfor n in range(2000): os.mkdir(f"${base}/{n}")\ntime.sleep(1)`,
  );
  await session.files.list();
}

function zygoteKb(): number {
  const zygote = descendants().find((one) => roleOf(one) === 'zygote');
  const status = readFileSync(`/proc/${zygote?.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]);
}

test('nothing that sessions and their callers named is in the memory of a new session, and the zygote does not grow', async () => {
  await useEverything(1);
  const before = zygoteKb();
  for (let size = 1; size <= SESSIONS; size += 1) await useEverything(size);
  await haveLongPathsMeasured();
  const grown = zygoteKb() - before;
  for (let count = 0; count < SESSIONS; count += 1) {
    const session = await host.createSession();
    const search = `${SEARCH}\nprint(sorted(set(found(b"canary-" + b"of-"))), [*found(b'"tok' + b'en": "'), *found(b'"tok' + b'en":"')])`;
    expect((await session.runCode(search)).logs.stdout).toBe('[] []\n');
  }
  expect(grown).toBeLessThan(MOST_GROWTH_KB);
});

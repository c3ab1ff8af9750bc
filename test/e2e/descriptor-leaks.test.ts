/** What is opened for a caller who then does not want it is closed. */
import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, type Host, type Session } from '../../src/index.ts';
import { RunFolder } from '../../src/tool/code-interpreter/artifact-folder.ts';
import { countDescriptors } from '../support/faults/descriptors.ts';

const ROUNDS = 20;

let host: Host;
let session: Session;
let artifactId: string;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'leaks-'));
  host = await createHost({ preload: [], poolSize: 0, dataDir: path.join(directory, 'data') });
  session = await host.createSession();
  const { files } = await session.runCode('open("file", "wb").write(bytes(300_000))');
  artifactId = files[0]?.id ?? '';
});
afterAll(async () => {
  await host.close();
  rmSync(directory, { recursive: true, force: true });
});

async function closed(stream: Readable): Promise<void> {
  stream.on('error', () => undefined); // an abort is one
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
}

const WAYS: Record<string, () => Promise<unknown>> = {
  'a download that is aborted before it is read': async () => {
    const controller = new AbortController();
    const stream = await session.files.download('file', { signal: controller.signal });
    const closing = closed(stream);
    controller.abort();
    await closing;
  },
  'a download that is aborted while it is opened': async () => {
    const controller = new AbortController();
    const opening = session.files.download('file', { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(opening).rejects.toThrow('enough');
  },
  'a download that is given up before it is read': async () => {
    const stream = await session.files.download('file');
    stream.destroy();
    await closed(stream);
  },
  'a download that is given up midway': async () => {
    const stream = await session.files.download('file');
    for await (const _ of stream) break;
    await closed(stream);
  },
  'a download that is read': async () => {
    const stream = await session.files.download('file');
    for await (const _ of stream);
    await closed(stream);
  },
  'an artifact that is given up before it is read': async () => {
    const stream = await host.artifacts.open(artifactId);
    stream.destroy();
    await closed(stream);
  },
  'an upload to a path that is refused': async () => {
    const source = createReadStream('/dev/zero');
    await once(source, 'open');
    await expect(session.files.upload('../out', source)).rejects.toMatchObject({ code: 'FILE_REFUSED' });
    await closed(source);
  },
  'an upload that is aborted before it begins': async () => {
    const source = createReadStream('/dev/zero');
    await once(source, 'open');
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(session.files.upload('new', source, { signal })).rejects.toThrow('enough');
    await closed(source);
  },
  'a copy of an artifact that a tool’s folder refuses': async () => {
    const content = await host.artifacts.open(artifactId);
    const folder = new RunFolder(path.join(directory, 'tool'));
    await expect(folder.add('../out', content, 1e6)).rejects.toMatchObject({ code: 'FILE_REFUSED' });
    await closed(content);
  },
  'a table that does not exist': async () => {
    await expect(session.exportTable('none')).rejects.toMatchObject({ code: 'TABLE_UNAVAILABLE' });
  },
};

test.for(Object.entries(WAYS))('%s leaves no descriptor open', async ([, tryIt]) => {
  await tryIt(); // whatever is opened once and stays
  const before = countDescriptors();
  for (let round = 0; round < ROUNDS; round += 1) await tryIt();
  await expect.poll(countDescriptors, { timeout: 1000 }).toBeLessThan(before + ROUNDS / 2);
});

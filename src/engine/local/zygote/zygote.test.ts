/** What the host makes of a zygote and a surveyor that say what they should not. */
import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { encodeFrame } from '../protocol/frames.ts';
import { Zygote, type EnclosureEvent } from './zygote.ts';

/** Stands in for the process; both of its channels are real. */
class StandIn extends EventEmitter {
  readonly ended = Promise.withResolvers<string>();
  readonly signals: unknown[] = [];

  kill(signal: unknown): boolean {
    this.signals.push(signal);
    this.ended.resolve('');
    return true;
  }
}

async function connected(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [near] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => {
    for (const socket of [near, far]) socket.destroy();
    server.close();
  });
  return { near, far };
}

async function start(): Promise<{
  zygote: Zygote;
  child: StandIn;
  control: Socket;
  surveyor: Socket;
  heard: EnclosureEvent[];
}> {
  const [control, surveyor] = [await connected(), await connected()];
  const child = new StandIn();
  const zygote = new Zygote({
    python: '',
    cacheDir: '',
    child: child as unknown as ChildProcess,
    control: control.near,
    surveyor: surveyor.near,
    ended: child.ended.promise,
  });
  const heard: EnclosureEvent[] = [];
  zygote.listen('e', (event) => heard.push(event));
  return { zygote, child, control: control.far, surveyor: surveyor.far, heard };
}

test.for([
  ['an event that nobody knows', encodeFrame({ event: 'surprise' })],
  ['an event of the wrong shape', encodeFrame({ event: 'answer', request: 'first', problem: null })],
  ['no object', Buffer.from('\0\0\0\u0002\0\0\0\0[]')],
  ['a frame that is too long', Buffer.alloc(8, 0xff)],
] as const)('a zygote that says %s is ended, and its sessions are told why', async ([, bytes]) => {
  const { zygote, child, control, heard } = await start();
  const asked = zygote.ask('e', { op: 'oomed' });
  control.write(bytes);
  await zygote.exited;
  expect(child.signals).toEqual(['SIGKILL']);
  expect(await asked).toBe('the zygote is gone');
  expect(heard).toEqual([
    { event: 'gone', enclosure: 'e', cause: expect.stringMatching(/^zygote: it broke the protocol: a/) as unknown },
  ]);
  await expect(zygote.warmUp()).rejects.toMatchObject({ code: 'ENGINE_FAILED' });
});

test('nothing that a zygote says after it broke the protocol counts', async () => {
  const { zygote, control, heard } = await start();
  const exit = { event: 'exited', enclosure: 'e', code: 0, signal: null, cause: null, problem: null };
  control.write(Buffer.concat([encodeFrame({}), encodeFrame(exit)]));
  await zygote.exited;
  expect(heard.map(({ event }) => event)).toEqual(['gone']);
});

test('a surveyor that says what nobody knows is replaced, and the zygote lives on', async () => {
  const { zygote, child, control, surveyor } = await start();
  surveyor.write(encodeFrame({ event: 'surprise' }));
  const [command] = (await once(control, 'data')) as [Buffer];
  expect(JSON.parse(command.subarray(8).toString())).toMatchObject({ op: 'survey' });
  expect([zygote.isAlive, child.signals]).toEqual([true, []]);
  child.kill('SIGTERM');
});

test('a session that could not be measured is told, and nobody else', async () => {
  const { zygote, child, surveyor, heard } = await start();
  const event = { event: 'unmeasured', enclosure: 'e', problem: 'KeyError' };
  surveyor.write(encodeFrame(event));
  await expect.poll(() => heard).toEqual([event]);
  expect(zygote.isAlive).toBe(true);
  child.kill('SIGTERM');
});

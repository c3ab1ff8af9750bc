/** Nonsense on the channels of a running engine: from a real pid 1 to its zygote, and from a real zygote to its host. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { Laboratory } from '../e2e/engine/laboratory.ts';
import { descendants, processesOf, roleOf } from '../e2e/engine/processes.ts';
import { realPython } from '../support/python.ts';

/** Says something in the place of another process, through a copy of its first socket. That takes the power of root. */
const SPEAK = `
import ctypes, os, socket, stat, sys
PIDFD_GETFD = 438
pid, data = int(sys.argv[1]), sys.stdin.buffer.read()
numbers = sorted(int(name) for name in os.listdir(f"/proc/{pid}/fd") if int(name) > 2)
first = next(fd for fd in numbers if stat.S_ISSOCK(os.stat(f"/proc/{pid}/fd/{fd}").st_mode))
copy = ctypes.CDLL(None).syscall(PIDFD_GETFD, os.pidfd_open(pid), first, 0)
socket.socket(fileno=copy).send(data)
`;
const isRoot = process.getuid?.() === 0;

function speakAs(pid: number, said: string): void {
  execFileSync(realPython(), ['-I', '-c', SPEAK, `${pid}`], { input: said });
}

test.runIf(isRoot).for([
  ['text', 'OSError: [Errno 22] Invalid argument (pid1.py:46)'],
  ['nothing at all', ''],
  ['an answer to another session', '{"request": 1, "problem": null}'],
  ['the end of a worker that it does not have', '{"status": 9}'],
  ['a number without end', `{"request": ${'9'.repeat(3000)}, "problem": null}`],
])('a pid 1 that says %s loses its own session, and no other', async ([, said]) => {
  await using laboratory = await Laboratory.start();
  await using subject = await laboratory.open();
  await using other = await laboratory.open();
  for (const one of [subject, other]) await one.run('state = 42');
  const pidOne = pidOneOf(subject);
  speakAs(pidOne, said ?? '');
  await expect.poll(() => descendants().some(({ pid }) => pid === pidOne)).toBe(false);
  const { state } = await subject.run('1 + 1');
  const reason = said === '' ? /./ : /its pid 1 broke the protocol/;
  expect(state.earlier ?? state).toMatchObject({
    status: 'lost',
    reason: expect.stringMatching(reason) as unknown,
  });
  expect((await other.run('state')).state).toMatchObject({ status: 'preserved', generation: 1 });
});

test.runIf(isRoot)('a zygote that says nonsense is replaced, and its sessions are told why', async () => {
  await using laboratory = await Laboratory.start();
  await using subject = await laboratory.open();
  await subject.run('state = 42');
  const zygote = descendants().find((one) => roleOf(one) === 'zygote');
  if (zygote === undefined) throw new Error('there is no zygote');
  speakAs(zygote.pid, '\0\0\0\u0002\0\0\0\0{}');
  await expect.poll(() => descendants().some(({ pid }) => pid === zygote.pid)).toBe(false);
  const { state } = await subject.run('1 + 1');
  expect(state.earlier ?? state).toMatchObject({
    status: 'lost',
    reason: expect.stringMatching(/zygote: it broke the protocol: an event that is not known/) as unknown,
  });
  expect(await subject.evaluate('6 * 7')).toBe('42');
});

function pidOneOf(subject: Awaited<ReturnType<Laboratory['open']>>): number {
  const found = processesOf(subject).find(({ numbers }) => numbers.at(-1) === 1);
  if (found === undefined) throw new Error('its pid 1 cannot be seen');
  return found.pid;
}

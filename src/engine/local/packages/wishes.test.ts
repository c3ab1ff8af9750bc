import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { WishReader, type Wish } from './wishes.ts';

function scene(): {
  readonly write: (...lines: (string | Buffer)[]) => Promise<void>;
  readonly next: () => Promise<Wish>;
} {
  const directory = mkdtempSync(path.join(tmpdir(), 'vivarium-test-'));
  const pipe = path.join(directory, 'wishes');
  execFileSync('mkfifo', [pipe]);
  const wishes: Wish[] = [];
  let arrived = Promise.withResolvers<void>();
  const reader = new WishReader(pipe, (wish) => {
    wishes.push(wish);
    arrived.resolve();
  });
  onTestFinished(() => {
    reader[Symbol.dispose]();
    rmSync(directory, { recursive: true });
  });
  return {
    write: async (...lines) => {
      for (const one of lines) await writeFile(pipe, one);
    },
    next: async () => {
      if (wishes.length === 0) await arrived.promise;
      arrived = Promise.withResolvers();
      return wishes.shift() as Wish;
    },
  };
}

const ID = '0123456789abcdef';
const line = (requirements: string[], isLast = true, id = ID): string =>
  `${JSON.stringify({ id, requirements, isLast })}\n`;

test('wishes arrive from one writer after the other, in parts or at once', async () => {
  const { write, next } = scene();
  await write(line(['a']));
  expect(await next()).toEqual({ id: ID, requirements: ['a'] });
  await write(line(['b'], false), line(['z'], true, 'fedcba9876543210'));
  expect((await next()).requirements).toEqual(['z']);
  await write(line(['c']));
  expect((await next()).requirements).toEqual(['b', 'c']);
});

test('whatever is not a wish is dropped, also if it never ends', async () => {
  const { write, next } = scene();
  const wrong = [
    '\n',
    'null\n',
    '{"id":1}\n',
    line(['x'], true, '../../x'),
    `${JSON.stringify({ id: ID, requirements: ['x'] })}\n`,
  ];
  await write(...wrong, Buffer.alloc(20_000, 0x61), '\n', line(['x'.repeat(5000)]), line(['a']));
  expect((await next()).requirements).toEqual(['a']);
});

test('parts that come without an end are bounded', async () => {
  const { write, next } = scene();
  for (let number = 0; number < 40; number += 1) await write(line(['x'.repeat(3900)], false));
  for (let number = 10; number < 30; number += 1) await write(line(['x'], false, `00000000000000${number}`));
  await write(line(['end'], true, 'ffffffffffffffff'));
  expect((await next()).requirements).toEqual(['end']);
});

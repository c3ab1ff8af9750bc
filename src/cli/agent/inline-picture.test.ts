import assert from 'node:assert/strict';
import { test } from 'vitest';
import { inlinePicture } from './inline-picture.ts';

const PNG = Buffer.alloc(6200, 7);

test('kitty and its kin get pieces of at most 4096 characters, which together are the picture', () => {
  for (const environment of [{ TERM: 'xterm-kitty' }, { TERM_PROGRAM: 'ghostty' }, { TERM_PROGRAM: 'WezTerm' }]) {
    const text = (inlinePicture(PNG, environment) ?? '').replaceAll('\u001B', '!');
    const pieces = [...text.matchAll(/!_G(?<keys>[^;]*);(?<data>[^!]*)!\\/gu)].map(({ groups }) => groups);
    assert.deepEqual(
      pieces.map((piece) => piece?.['keys']),
      ['a=T,f=100,m=1', 'm=1', 'm=0'],
    );
    assert.ok(pieces.every((piece) => (piece?.['data']?.length ?? 0) <= 4096));
    assert.deepEqual(Buffer.from(pieces.map((piece) => piece?.['data']).join(''), 'base64'), PNG);
  }
});

test('iTerm2 gets its own sequence, and other terminals get nothing', () => {
  assert.equal(
    inlinePicture(PNG, { TERM_PROGRAM: 'iTerm.app' }),
    `\u001B]1337;File=inline=1;size=6200:${PNG.toString('base64')}\u0007\n`,
  );
  for (const TERM of ['xterm-256color', 'screen', undefined]) {
    assert.equal(inlinePicture(PNG, TERM === undefined ? {} : { TERM }), undefined);
  }
});

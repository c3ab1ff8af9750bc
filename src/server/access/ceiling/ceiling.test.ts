import { describe, expect, test } from 'vitest';
import { Limits, parse } from '../../../config.ts';
import { checkRequirements, keepWithin, type Asked, type Ceiling } from './ceiling.ts';

const LIMITS = parse(Limits, { memoryMb: 512, timeoutMs: 10_000, cpus: 2 });

const CEILING: Ceiling = {
  mounts: [
    { source: '/data', target: '/data', writable: false },
    { source: '/data/out', target: '/out', writable: true },
  ],
  network: { allow: ['*.example.org', '10.0.0.0/8:5432'], deny: ['secret.example.org'], log: true },
  packages: ['polars', 'Ruamel.YAML'],
  limits: LIMITS,
};
const LOWEST: Ceiling = { mounts: [], network: false, packages: 'none', limits: LIMITS };

function refused(asked: Asked, ceiling: Ceiling = CEILING): unknown {
  try {
    return keepWithin(asked, ceiling);
  } catch (error) {
    return error;
  }
}

function refusal(...words: readonly string[]): object {
  return expect.objectContaining({
    code: 'FORBIDDEN',
    message: expect.stringMatching(
      words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)).join('.*'),
    ) as string,
  }) as object;
}

describe('What a request asks for', () => {
  test.for<Asked>([
    {},
    { mounts: [] },
    { mounts: [{ source: '/data', target: '/anywhere' }] },
    { mounts: [{ source: '/data/2026/may', target: '/may', writable: false }] },
    { mounts: [{ source: '/data/out/x', target: '/x', writable: true }] },
    { mounts: [{ source: '/data/2026/../2025', target: '/x' }] },
    { network: false },
    { packages: 'none' },
    { packages: ['Polars', 'ruamel-yaml'] },
    { packages: [] },
    { limits: { memoryMb: 512, cpuMs: 1000 } },
    { limits: { cpus: 1.5 } },
    { timeoutMs: 10_000 },
  ])('is left as it is where it is allowed: %j', (asked) => {
    expect(keepWithin(asked, CEILING)).toEqual(asked);
  });

  test('is not compared with anything for an admin', () => {
    const asked = { network: true, packages: 'any', mounts: [{ source: '/', target: '/x', writable: true }] } as const;
    expect(keepWithin(asked, null)).toBe(asked);
    checkRequirements('anything', null);
  });

  test('of a limit may be more than nothing if there is no limit at all', () => {
    expect(keepWithin({ limits: { cpuMs: null } }, CEILING)).toEqual({ limits: { cpuMs: null } });
  });
});

describe('A mount is refused', () => {
  test.for([
    '/',
    '/etc',
    '/database',
    '/data/..',
    '/data/../etc/shadow',
    '/data/out/../../etc',
    '/dat',
    '/proc/self/root/data',
  ])('outside of what is allowed: %s', (source) => {
    expect(refused({ mounts: [{ source, target: '/x' }] })).toEqual(
      refusal(JSON.stringify(source), 'not allowed', '/data (read-only)', '/data/out (writable)'),
    );
  });

  test('if it wants to write where that is not allowed', () => {
    const asked = { mounts: [{ source: '/data/in', target: '/x', writable: true }] };
    expect(refused(asked)).toEqual(refusal('A writable mount of "/data/in" is not allowed'));
  });

  test('if none is allowed, with the option that would allow it', () => {
    expect(refused({ mounts: [{ source: '/data', target: '/x' }] }, LOWEST)).toEqual(
      refusal('none is', '--allow-mount'),
    );
  });

  test('if one of several is not allowed', () => {
    const mounts = [
      { source: '/data', target: '/a' },
      { source: '/etc', target: '/b' },
    ];
    expect(refused({ mounts })).toEqual(refusal('"/etc"'));
  });
});

describe('A network', () => {
  test('is refused as a whole where there is none', () => {
    expect(refused({ network: true }, LOWEST)).toEqual(refusal('sessions of this server have none'));
    expect(refused({ network: { allow: [] } }, LOWEST)).toEqual(refusal('sessions of this server have none'));
  });

  test('cannot be that of the machine where hosts are listed', () => {
    expect(refused({ network: true })).toEqual(refusal('The network of the machine', '*.example.org, 10.0.0.0/8:5432'));
  });

  test('is refused with a host that is not covered', () => {
    const network = { allow: ['api.example.org', 'evil.com'] };
    expect(refused({ network })).toEqual(refusal('"evil.com"', 'allowed are *.example.org'));
  });

  test('keeps what the server denies, whatever the request denies', () => {
    const asked = { network: { allow: ['*.example.org'], deny: ['x.example.org'], log: false } };
    expect(keepWithin(asked, CEILING)).toEqual({
      network: { allow: ['*.example.org'], deny: ['x.example.org', 'secret.example.org'], log: false },
    });
  });

  test('can be anything where that of the machine is allowed', () => {
    const open = { ...CEILING, network: true };
    expect(keepWithin({ network: true }, open)).toEqual({ network: true });
    expect(keepWithin({ network: { allow: ['evil.com'] } }, open)).toEqual({ network: { allow: ['evil.com'] } });
  });
});

describe('Packages are refused', () => {
  test('that are not on the list', () => {
    expect(refused({ packages: ['polars', 'leftpad'] })).toEqual(refusal('leftpad', 'polars, Ruamel.YAML'));
    expect(refused({ packages: 'any' })).toEqual(refusal('any package', 'allowed are'));
    expect(refused({ packages: ['polars'] }, LOWEST)).toEqual(refusal('polars', 'none is'));
  });

  test('that a caller installs, as a list or as the text of a file', () => {
    checkRequirements(['polars==1.*', 'ruamel.yaml>=0.1'], CEILING);
    checkRequirements('# what we need\npolars==1.*\n', CEILING);
    expect(() => checkRequirements(['polars', 'leftpad==1'], CEILING)).toThrow('leftpad');
    expect(() => checkRequirements('polars\nleftpad\n', CEILING)).toThrow('leftpad');
    expect(() => checkRequirements(['polars'], LOWEST)).toThrow('none is');
  });
});

describe('A limit is refused', () => {
  test.for<[Asked, string, string]>([
    [{ limits: { memoryMb: 513 } }, '`memoryMb` cannot be 513', 'up to 512'],
    [{ limits: { memoryMb: 1, timeoutMs: 20_000 } }, '`timeoutMs` cannot be 20000', 'up to 10000'],
    [{ limits: { cpus: null } }, '`cpus` cannot be left out (null)', 'up to 2'],
    [{ timeoutMs: 10_001 }, '`timeoutMs` cannot be 10001', 'up to 10000'],
  ])('if it is higher: %j', ([asked, what, allowed]) => {
    expect(refused(asked)).toEqual(refusal(what, allowed));
  });
});

/** The files that a server is deployed with. `npm run image` builds and runs them; this holds them to what the pages say. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseServerOptions } from '../../src/server/options.ts';
import { anchorsOf, cellsOf, linksOf, ROOT } from './pages.ts';

interface Service {
  readonly security_opt: readonly string[];
  readonly stop_grace_period: string;
}

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const { vivarium } = (parse(read('compose.yaml')) as { services: Record<'vivarium', Service> }).services;
const unit = read('contrib/vivarium.service');
const image = read('Dockerfile');

/** Of all lines of the unit, comments left out. */
const settings = new Map(
  [...unit.matchAll(/^(?<name>[A-Za-z]+)=(?<value>.*)$/gmu)].map(({ groups }) => [groups?.['name'], groups?.['value']]),
);

test('llms.txt leads to pages and headings that exist', () => {
  const links = linksOf(read('llms.txt'));
  expect(links.length).toBeGreaterThan(10);
  for (const link of links) {
    const [file = '', anchor] = link.split('#');
    assert.ok(existsSync(path.join(ROOT, file)), `${link} does not exist`);
    if (anchor !== undefined) assert.ok(anchorsOf(read(file)).has(anchor), `${link} has no heading`);
  }
});

test('llms.txt has the form of its kind: a title, a summary, then lists of links', () => {
  const [title, blank, summary] = read('llms.txt').split('\n');
  expect([title, blank]).toEqual(['# Vivarium', '']);
  expect(summary).toMatch(/^> /u);
  const listed = read('llms.txt').slice(read('llms.txt').indexOf('\n## '));
  for (const line of listed.split('\n').filter(Boolean)) expect(line).toMatch(/^## \w|^- \[[^\]]+\]\([^)]+\): \S/u);
});

test('the container is an ordinary user without capabilities, on a root that it cannot change', () => {
  expect(vivarium).toMatchObject({
    ports: [expect.stringMatching(/^127\.0\.0\.1:/u)],
    cap_drop: ['ALL'],
    read_only: true,
    volumes: ['data:/data'],
  });
  expect(JSON.stringify(vivarium)).not.toMatch(/privileged|cap_add|docker\.sock|"user":"?0/u);
  const lines = image.split('\n');
  expect(lines.findLastIndex((line) => line.startsWith('RUN '))).toBeLessThan(lines.indexOf('USER vivarium'));
  expect(image).toContain('VOLUME /data');
});

test('the page names every exception of the container', () => {
  const exceptions = vivarium.security_opt.filter((option) => option.endsWith('=unconfined'));
  const named = cellsOf(read('docs/deploy.md')).flatMap(({ cell }) => /^`(?<option>\w+=\w+)`$/u.exec(cell)?.[1] ?? []);
  expect(vivarium.security_opt).toContain('no-new-privileges:true');
  expect(exceptions.toSorted()).toEqual(named.toSorted());
});

test('the server is given more time to stop than it takes', () => {
  const { drainMs } = parseServerOptions({});
  for (const seconds of [settings.get('TimeoutStopSec'), vivarium.stop_grace_period])
    expect(Number.parseInt(seconds ?? '', 10) * 1000).toBeGreaterThan(drainMs + 5000);
});

test('the service is an ordinary user with control groups of its own, and has nothing that keeps sessions from being built', () => {
  expect(Object.fromEntries(settings)).toMatchObject({
    User: 'vivarium',
    Delegate: 'yes',
    NoNewPrivileges: 'yes',
    CapabilityBoundingSet: '',
    ProtectSystem: 'strict',
    StateDirectoryMode: '0700',
  });
  const reasons = unit.slice(unit.indexOf('# Not here'), unit.indexOf('NoNewPrivileges'));
  const refused = reasons.match(/(?:Restrict|SystemCall|Protect)[A-Z]\w+/gu) ?? [];
  expect(refused).toContain('ProtectKernelTunables');
  for (const name of refused) expect([...settings.keys()]).not.toContain(name);
});

import { expect, test } from 'vitest';
import { PatternSet } from './patterns.ts';

const PATTERNS = new PatternSet([
  'write_channel',
  '.set_value',
  'PV().put',
  'epics.caput',
  'epics.PV().put',
  'epics.PV().value=',
  'tango.DeviceProxy().*=',
]);

function match(name: string, how: 'called' | 'mentioned' | 'stored' = 'called', roots: readonly string[] = []) {
  return PATTERNS.match({ name, how, line: 1 }, new Set(roots));
}

test.for([
  'write_channel',
  'lab.write_channel',
  'magnet.set_value',
  '?.set_value',
  'epics.caput',
  'epics.PV().put',
  'epics.PV.put',
  'lab.devices.PV().put',
])('%s is certainly meant', (name) => {
  expect(match(name)).toBe('certain');
});

test.for(['set_value', 'queue.put', '?.put', 'epics.caget', 'lab.caput', 'print'])('%s is not meant', (name) => {
  expect(match(name)).toBeUndefined();
});

test('a member of an unknown object is possibly meant if its library is imported', () => {
  expect(match('?.put')).toBeUndefined();
  expect(match('?.put', 'called', ['epics'])).toBe('possible');
  expect(match('?.put', 'called', ['?'])).toBe('possible');
  expect(match('?.put', 'called', ['numpy'])).toBeUndefined();
});

test('a function that the session provides under its bare name is certainly meant, a method is not', () => {
  expect(match('caput')).toBe('certain');
  expect(match('put')).toBeUndefined();
});

test('an assignment matches only patterns for assignments, and a call only those for calls', () => {
  expect(match('epics.PV().value', 'stored')).toBe('certain');
  expect(match('epics.PV().value', 'called')).toBeUndefined();
  expect(match('epics.caput', 'stored')).toBeUndefined();
  expect(match('?.value', 'stored', ['epics'])).toBeUndefined();
});

test('a star matches any attribute of the class', () => {
  expect(match('tango.DeviceProxy().current', 'stored')).toBe('certain');
  expect(match('tango.DeviceProxy().voltage', 'stored')).toBe('certain');
  expect(match('tango.Group().current', 'stored')).toBeUndefined();
});

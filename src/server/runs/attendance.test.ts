import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Attendance } from './attendance.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('nobody has come yet: there is all the time', () => {
  const onDesertion = vi.fn<() => void>();
  const attendance = new Attendance(10, onDesertion);
  expect(attendance).toBeDefined();
  vi.advanceTimersByTime(1000);
  expect(onDesertion).not.toHaveBeenCalled();
});

test('it is noticed when nobody has waited for long enough', () => {
  const onDesertion = vi.fn<() => void>();
  const attendance = new Attendance(10, onDesertion);
  const one = attendance.join();
  const other = attendance.join();
  one[Symbol.dispose]();
  one[Symbol.dispose](); // leaving twice is leaving once
  vi.advanceTimersByTime(1000);
  expect(onDesertion).not.toHaveBeenCalled();
  other[Symbol.dispose]();
  vi.advanceTimersByTime(9);
  expect(onDesertion).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onDesertion).toHaveBeenCalledOnce();
});

test('somebody who comes back in time is enough', () => {
  const onDesertion = vi.fn<() => void>();
  const attendance = new Attendance(10, onDesertion);
  attendance.join()[Symbol.dispose]();
  vi.advanceTimersByTime(5);
  attendance.join();
  vi.advanceTimersByTime(1000);
  expect(onDesertion).not.toHaveBeenCalled();
});

test('at the end there is nothing to wait for', () => {
  const onDesertion = vi.fn<() => void>();
  const attendance = new Attendance(10, onDesertion);
  const one = attendance.join();
  attendance.end();
  one[Symbol.dispose]();
  vi.advanceTimersByTime(1000);
  expect(onDesertion).not.toHaveBeenCalled();
});

import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

/** More than starting a program with a few pipes takes. */
const ENOUGH = 16;

/**
 * Starts a program. Where descriptors run out in the middle of that, Node keeps those of the pipes for ever; so it starts
 * with enough of them or with none, and in the latter case fails as usual.
 */
export function spawnWithRoom(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const held = takeDescriptors(ENOUGH);
  if (held.length === ENOUGH) closeAll(held);
  try {
    return spawn(program, args, options);
  } finally {
    closeAll(held);
  }
}

function takeDescriptors(count: number): number[] {
  const taken: number[] = [];
  try {
    while (taken.length < count) taken.push(openSync('/dev/null', 'r'));
  } catch {
    // there are no more
  }
  return taken;
}

function closeAll(descriptors: number[]): void {
  for (const descriptor of descriptors.splice(0)) closeSync(descriptor);
}

/** What /proc says about the processes of an engine. */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import type { Subject } from './laboratory.ts';

export type Role = 'outside' | 'zygote' | 'builder' | 'surveyor' | 'gate' | 'pid 1' | 'worker' | 'other';

export interface Process {
  readonly pid: number;
  readonly name: string;
  /** When it began, in ticks since the machine started. Together with the pid it identifies a process. */
  readonly startedAt: string;
  /** Its number in each pid namespace, from the outermost to its own. */
  readonly numbers: readonly number[];
  readonly parent: number;
}

/** Every process that descends from this one. */
export function descendants(root = process.pid): Process[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
  const children = Map.groupBy(all, (one) => one.parent);
  const found: Process[] = [];
  for (const pending = [root]; pending.length > 0;) {
    const next = children.get(pending.pop() ?? 0) ?? [];
    found.push(...next);
    pending.push(...next.map(({ pid }) => pid));
  }
  return found;
}

/** The role of a process of an engine, by its position in the pid namespaces. */
export function roleOf({ name, numbers, parent }: Process): Role {
  const own = numbers.at(-1);
  if (name === 'viv-surveyor') return 'surveyor';
  if (name === 'viv-gate') return 'gate';
  if (numbers.length === 1) return 'outside';
  if (numbers.length === 2) return own === 1 ? 'zygote' : 'builder';
  if (own === 1) return 'pid 1';
  return parent > 1 ? 'worker' : 'other';
}

export function isRunning({ pid, startedAt }: Process): boolean {
  return readProcess(pid)?.startedAt === startedAt;
}

/** The processor time that a process has used, to 10 ms. */
export function processorMs({ pid }: Process): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** The worker of an idle session: unlike its twins, it is not a child of another process of the session. */
export function workerOf({ session }: Subject): Process {
  return workerIn(session.workspace.path);
}

/** The same for a session that is known by its workspace. */
export function workerIn(workspacePath: string): Process {
  const own = processesIn(workspacePath).filter(({ numbers }) => numbers.at(-1) !== 1);
  const worker = own.find(({ parent }) => own.every(({ pid }) => pid !== parent));
  if (worker === undefined) throw new Error('the session has no processes');
  return worker;
}

/** The processes of a session. Its pid 1 is missing if it cannot be inspected. */
export function processesOf({ session }: Subject): Process[] {
  return processesIn(session.workspace.path);
}

export function processesIn(workspacePath: string): Process[] {
  const workspace = statSync(workspacePath).ino;
  return descendants().filter(({ pid }) => {
    try {
      return statSync(`/proc/${pid}/root/workspace`).ino === workspace;
    } catch {
      return false; // not in an enclosure, closed to us, or gone
    }
  });
}

export function openFds(): number {
  return readdirSync('/proc/self/fd').length;
}

/** What Node keeps in reserve where it listens: once it ran out of descriptors, the second instead of the first. */
const RESERVE = ['/dev/null', '/'];

/** What the descriptors of this process refer to. */
export function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${name}`);
      return RESERVE.includes(file) ? [] : [`${name} of ${file}`];
    } catch {
      return []; // that of the listing itself
    }
  });
}

function readProcess(pid: number): Process | undefined {
  try {
    const [, name = '', rest = ''] = /\((.*)\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const fields = rest.split(' ');
    const numbers = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]?.split(/\s+/) ?? [];
    if (fields[0] === 'Z') return undefined; // ended, but not collected yet
    return { pid, name, parent: Number(fields[1]), startedAt: fields[19] ?? '', numbers: numbers.map(Number) };
  } catch {
    return undefined; // it has just ended
  }
}

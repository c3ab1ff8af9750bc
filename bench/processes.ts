/** Processes and their memory, as the kernel counts them. */
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

export interface Memory {
  /** Private pages, and of shared ones a fair share. */
  readonly pssBytes: number;
  readonly privateBytes: number;
}

/** The processes of each session by its pid namespace: its pid 1, its worker and its twins. */
export function sessionProcesses(zygote: number): Map<string, number[]> {
  const children = childrenByParent();
  const byNamespace = new Map<string, number[]>();
  const nesting = new Set([pidNamespace(process.pid)]);
  for (const pid of descendants(zygote, children)) {
    const namespace = pidNamespace(pid);
    if (namespace === undefined) continue;
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), pid]);
    // Only the zygote's own namespace has others inside; sessions have none.
    if (children.get(pid)?.some((child) => pidNamespace(child) !== namespace)) nesting.add(namespace);
  }
  return new Map([...byNamespace].filter(([namespace]) => !nesting.has(namespace)));
}

/** The zygote that this process has started last. */
export function latestZygote(): number {
  const children = childrenByParent().get(process.pid) ?? [];
  const zygotes = children.filter((pid) => read(`/proc/${pid}/cmdline`)?.includes('_vivarium/zygote/__main__.py'));
  const latest = zygotes.toSorted((a, b) => startOf(b) - startOf(a))[0];
  if (latest === undefined) throw new Error('no zygote is running');
  return latest;
}

export function memoryOf(pids: readonly number[]): Memory {
  let pssKb = 0;
  let privateKb = 0;
  for (const pid of pids) {
    const rollup = read(`/proc/${pid}/smaps_rollup`) ?? ''; // the process has ended: it uses nothing
    for (const [, name, kb] of rollup.matchAll(/^(\w+):\s+(\d+) kB$/gm)) {
      if (name === 'Pss') pssKb += Number(kb);
      if (name === 'Private_Clean' || name === 'Private_Dirty') privateKb += Number(kb);
    }
  }
  return { pssBytes: pssKb * 1024, privateBytes: privateKb * 1024 };
}

/** What a process has in memory now, and had at most since `forgetPeak`. */
export function residentBytes(pid: number): { readonly now: number; readonly peak: number } {
  const status = read(`/proc/${pid}/status`) ?? '';
  const field = (name: string): number => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

/** Lets the kernel begin again to note the most that a process has in memory. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** What the whole machine could still hand out. */
export function availableBytes(): number {
  const [, kb] = /^MemAvailable:\s+(\d+) kB$/m.exec(read('/proc/meminfo') ?? '') ?? [];
  return Number(kb) * 1024;
}

function descendants(root: number, children: ReadonlyMap<number, readonly number[]>): number[] {
  const found: number[] = [];
  const pending = [root];
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    const below = children.get(pid) ?? [];
    found.push(...below);
    pending.push(...below);
  }
  return found;
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = read(`/proc/${name}/stat`);
    if (stat === undefined) continue;
    const parent = Number(fieldsOf(stat)[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  return children;
}

/** In ticks since the machine has started. */
function startOf(pid: number): number {
  return Number(fieldsOf(read(`/proc/${pid}/stat`) ?? '')[19]);
}

/** Those of /proc/PID/stat behind the name, which may hold anything. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function pidNamespace(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined; // ended, or another user's
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // processes end while one looks at them
  }
}

/** Processes and their memory, as the kernel counts them. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface Memory {
  /** Private pages, and of shared ones a fair share. */
  readonly pssBytes: number;
  readonly privateBytes: number;
}

/** The processes of each session: those in one pid namespace, which are its pid 1, its worker and its twins. */
export function sessionProcesses(zygote: number): number[][] {
  const own = pidNamespace(process.pid);
  const byNamespace = new Map<string, number[]>();
  for (const pid of descendants(zygote)) {
    const namespace = pidNamespace(pid);
    if (namespace === undefined || namespace === own) continue;
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), pid]);
  }
  return [...byNamespace.values()];
}

/** The zygotes that this process has started and that still run. */
export function zygotes(): number[] {
  return (childrenByParent().get(process.pid) ?? []).filter((pid) => read(`/proc/${pid}/cmdline`)?.includes('zygote.py'));
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

/** What the whole machine could still hand out. */
export function availableBytes(): number {
  const [, kb] = /^MemAvailable:\s+(\d+) kB$/m.exec(read('/proc/meminfo') ?? '') ?? [];
  return Number(kb) * 1024;
}

function descendants(root: number): number[] {
  const children = childrenByParent();
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
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  return children;
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

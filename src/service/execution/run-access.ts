import type { Isolation } from '../../execution/isolation.ts';
import type { ExecutionMode } from '../config/schema.ts';

/** What a run can reach, as it is enforced outside of its session. */
export interface RunAccess {
  /** Who confines the session: our sandbox, a Jupyter server in its own way, or nobody. */
  readonly walls: 'sandbox' | 'server' | 'none';
  /** Whether the operator gave this mode the network. Only a sandbox takes it away. */
  readonly network: boolean;
  /** Directories outside of the workspace that the run may write to. */
  readonly writable: readonly string[];
}

export function wallsOf({ level }: Pick<Isolation, 'level'>): RunAccess['walls'] {
  switch (level) {
    case 'namespaces':
    case 'landlock':
      return 'sandbox';
    case 'jupyter':
      return 'server';
    case 'none':
      return 'none';
  }
}

/** Says to a reviewer what confines the code, and what does not. */
export function describeAccess({ walls, network, writable }: RunAccess, mode: ExecutionMode): string {
  const isOpen = network || walls !== 'sandbox';
  return [
    REACH[walls],
    ...(walls !== 'sandbox' ? [] : [network ? `It has the network: modes.${mode}.network allows it.` : 'No network.']),
    ...(walls !== 'sandbox' ? [] : [mountsText(writable)]),
    ...(isOpen && mode === 'read_only' ? [NOT_SEPARATED] : []),
  ].join(' ');
}

const REACH = {
  sandbox: 'The sandbox confines it.',
  server: 'Only the Jupyter server confines it: files and network are as that server allows.',
  none: 'Nothing confines it (isolation none): it can do whatever the user of the service can.',
} as const satisfies Record<RunAccess['walls'], string>;

/** A process that can reach a control system can write to it. No code in that process can prevent this. */
const NOT_SEPARATED =
  'The mode read_only does not stop a write over the network: only access rules of the control system or a read-only gateway do.';

function mountsText(writable: readonly string[]): string {
  return writable.length === 0 ? 'Mounts are read-only.' : `It may write to ${writable.join(', ')}.`;
}

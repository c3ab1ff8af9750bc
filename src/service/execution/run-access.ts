import type { NetworkSetting } from '../../config.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { ExecutionMode } from '../config/schema.ts';

/** What a run can reach, as it is enforced outside of its session. */
export interface RunAccess {
  /** Who confines the session: our sandbox, a Jupyter server in its own way, or nobody. */
  readonly walls: 'sandbox' | 'server' | 'none';
  /** What the operator lets this mode reach. Only a sandbox takes the rest away. */
  readonly network: NetworkSetting;
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
  const isOpen = network !== false || walls !== 'sandbox';
  return [
    REACH[walls],
    ...(walls !== 'sandbox' ? [] : [networkText(network, mode), mountsText(writable)]),
    ...(isOpen && mode === 'read_only' ? [NOT_SEPARATED] : []),
  ].join(' ');
}

const MAX_SHOWN = 20;

const REACH = {
  sandbox: 'The sandbox confines it.',
  server: 'Only the Jupyter server confines it: files and network are as that server allows.',
  none: 'Nothing confines it (isolation none): it can do whatever the user of the service can.',
} as const satisfies Record<RunAccess['walls'], string>;

/** A process that can reach a control system can write to it. No code in that process can prevent this. */
const NOT_SEPARATED =
  'The mode read_only does not stop a write over the network: only access rules of the control system or a read-only gateway do.';

function networkText(network: NetworkSetting, mode: ExecutionMode): string {
  if (network === false) return 'No network.';
  if (network === true) return `It has the network: modes.${mode}.network allows it.`;
  const { allow, deny } = network;
  const except = deny.length > 0 ? `, except ${some(deny)}` : '';
  return allow.length === 0
    ? 'No network.'
    : `It reaches these hosts and no others: ${some(allow)}${except} (modes.${mode}.network).`;
}

function some(entries: readonly string[]): string {
  const more = entries.length - MAX_SHOWN;
  return [...entries.slice(0, MAX_SHOWN), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

function mountsText(writable: readonly string[]): string {
  return writable.length === 0 ? 'Mounts are read-only.' : `It may write to ${writable.join(', ')}.`;
}

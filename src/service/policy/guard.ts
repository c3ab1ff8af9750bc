import type { FindingKind } from '../analysis/finding.ts';
import { pythonValue, runSource } from '../../text/code/python-code.ts';
import { controlPatterns } from '../analysis/control-systems.ts';
import type { Configuration } from '../config/schema.ts';
import { readPayload } from '../../engine/python-files.ts';
import { writeBlock } from './decision.ts';

export interface GuardOptions {
  /** Kinds of findings that somebody has approved for this very code: `process` and `native-code` are then let through. */
  readonly approved?: readonly FindingKind[];
}

/**
 * Init code for sessions of the mode `read_only`: it refuses writes with a `WriteRefused` (a PermissionError) that says what
 * to do, and leaves no variable behind.
 */
export async function readOnlyGuard(
  configuration: Configuration,
  { approved = [] }: GuardOptions = {},
): Promise<string> {
  const settings = {
    mode: 'read_only',
    wayOut: wayOut(configuration),
    writes: controlPatterns(configuration.control_system.patterns).write,
    processes: !approved.includes('process'),
    nativeCode: !approved.includes('native-code'),
  };
  const install = runSource({
    source: await readPayload('read_only_guard'),
    name: 'readonly_guard',
    file: '<read-only guard>',
    result: `names["install"](${pythonValue(settings)})`,
  });
  return `if ${install}: pass`; // a statement, so that no kernel shows its value
}

function wayOut(configuration: Configuration): string {
  const block = writeBlock(configuration);
  if (block !== undefined) return `Read only, or have an operator set ${block} to true.`;
  return 'Read only; or write openly, so that analysis sees it, and have the code approved for the mode write_access.';
}

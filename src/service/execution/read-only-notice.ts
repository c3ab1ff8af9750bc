import type { FindingKind } from '../analysis/finding.ts';
import { pythonValue, runSource } from '../../text/code/python-code.ts';
import { controlPatterns } from '../analysis/control-systems.ts';
import type { Configuration } from '../config/schema.ts';
import { readPayload } from '../../engine/python-files.ts';
import { writeBlock } from '../policy/decision.ts';

export interface NoticeOptions {
  /** The kinds of findings that a reviewer approved for this code. `process` and `native-code` are then allowed. */
  readonly approved?: readonly FindingKind[];
}

/**
 * Init code for sessions in the mode `read_only`. Code that writes gets a `WriteRefused` (a PermissionError) that says what
 * to do. It is a message and no wall: it lives in the process of the code, and code that means to can get around it. It
 * leaves no variables behind.
 */
export async function readOnlyNotice(
  configuration: Configuration,
  { approved = [] }: NoticeOptions = {},
): Promise<string> {
  const settings = {
    mode: 'read_only',
    wayOut: wayOut(configuration),
    writes: controlPatterns(configuration.control_system.patterns).write,
    processes: !approved.includes('process'),
    nativeCode: !approved.includes('native-code'),
  };
  const install = runSource({
    source: await readPayload('read_only_notice'),
    name: 'readonly_notice',
    file: '<read-only notice>',
    result: `names["install"](${pythonValue(settings)})`,
  });
  return `if ${install}: pass`; // a statement, so that no kernel shows its value
}

function wayOut(configuration: Configuration): string {
  const block = writeBlock(configuration);
  if (block !== undefined) return `Read only, or have an operator set ${block} to true.`;
  return 'Read only, or write in a way that analysis can see, and have the code approved for the mode write_access.';
}

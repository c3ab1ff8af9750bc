import type { FindingKind } from '../analysis/finding.ts';
import { controlPatterns } from '../analysis/control-systems.ts';
import type { Configuration } from '../config/schema.ts';
import { readGuard } from '../analysis/python-files.ts';
import { writeBlock } from '../policy/decision.ts';

export interface GuardOptions {
  /** The kinds of findings that a reviewer approved for this code. `process` and `native-code` are then allowed. */
  readonly approved?: readonly FindingKind[];
}

/**
 * Init code for sessions in the mode `read_only`. It refuses writes with a `WriteRefused` (a PermissionError) that says what
 * to do, and leaves no variables behind.
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
  // A JSON string is also a Python string.
  const source = JSON.stringify(await readGuard());
  const data = JSON.stringify(JSON.stringify(settings));
  const install = `(exec(compile(${source}, "<read-only guard>", "exec"), space), space["install"](__import__("json").loads(${data})))`;
  return `if (lambda space: ${install})({"__name__": "readonly_guard"}): pass`; // a statement, so that kernels do not display its value
}

function wayOut(configuration: Configuration): string {
  const block = writeBlock(configuration);
  if (block !== undefined) return `Read only, or have an operator set ${block} to true.`;
  return 'Read only, or write in a way that analysis can see, and have the code approved for the mode write_access.';
}

import type { ExecutionMethod, ModeConfiguration } from '../config/schema.ts';

/** The kernels that the configuration names by default. Servers have them only if somebody installed them. */
const DOCUMENTED = ['python3-epics-readonly', 'python3-epics-write'];
/** What every server with ipykernel has. */
const STANDARD = 'python3';

/** The kernels to try in order. One that somebody chose is never replaced by another. */
export function kernelsFor(configured: string): readonly string[] {
  return DOCUMENTED.includes(configured) ? [configured, STANDARD] : [configured];
}

/** Says that code ran in another kernel than the configured one. */
export function kernelNote(
  method: ExecutionMethod,
  { kernel_name: configured }: Pick<ModeConfiguration, 'kernel_name'>,
  used: string,
): string | null {
  if (method === 'local' || used === configured) return null;
  return `The Jupyter server has no kernel "${configured}", so the code ran in "${used}". Install that kernel, or set kernel_name of its mode to "${used}".`;
}

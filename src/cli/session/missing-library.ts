import { explainMissingImport } from '../../environment/missing.ts';
import type { PythonError } from '../../execution/outcome.ts';
import type { Host } from '../../host/host.ts';
import type { Context } from '../terminal/context.ts';

/** Says after a traceback how to get a library that `vivarium setup` installs. */
export async function tellMissingLibrary(
  error: PythonError | undefined,
  { environment }: Host,
  { stderr, lifetime }: Context,
): Promise<void> {
  const text = explainMissingImport(error, environment);
  if (text === undefined || lifetime.isReaderGone) return;
  await stderr.relay(`vivarium: ${text}\n`);
  await stderr.endRelay();
}

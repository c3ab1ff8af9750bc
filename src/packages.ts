/** Packages that Vivarium does not install. You install them if you use the part that needs them. */
import { VivariumError } from './errors.ts';

const CORE = '@langchain/core@~1.2.13';
const OPENAI = '@langchain/openai@~1.6.0';

/** What `npm install` takes for each part: the versions that are tested together. `peerDependencies` allow later ones. */
export const NEEDED = {
  agent: [CORE, OPENAI],
  langChain: [CORE],
  openai: [CORE, OPENAI],
  postgres: ['pg@~8.23.1', '@langchain/langgraph-checkpoint-postgres@~1.0.5'],
  service: [CORE, '@langchain/langgraph@~1.4.18', '@langchain/langgraph-checkpoint@~1.1.5', OPENAI],
} as const satisfies Record<string, readonly string[]>;

/** Loads a module that needs such packages. `part` is what the caller used. */
export async function loadOptional<T>(part: string, needed: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw explainMissing(error, part, needed);
  }
}

/**
 * The error to throw for one that loading has thrown: a missing package is told with what to install.
 *
 * @public It is used by the files that tools/entries.ts writes.
 */
export function explainMissing(cause: unknown, part: string, needed: readonly string[]): unknown {
  if (!(cause instanceof Error && 'code' in cause && MISSING.has(String(cause.code)))) return cause;
  return new VivariumError(
    'PACKAGE_MISSING',
    `${part} needs packages that are not installed with Vivarium. Run: npm install ${needed.join(' ')}`,
    { cause },
  );
}

const MISSING = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** PostgreSQL is for those who need it: its packages are loaded when they do, and are theirs to install. */
import { VivariumError } from '../../errors.ts';

const MISSING = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

export async function loadPostgres() {
  try {
    const [{ default: pg }, { PostgresSaver }] = await Promise.all([
      import('pg'),
      import('@langchain/langgraph-checkpoint-postgres'),
    ]);
    return { Pool: pg.Pool, PostgresSaver };
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && MISSING.has(String(cause.code));
    if (!isMissing) throw cause;
    throw new VivariumError(
      'STORAGE_FAILED',
      'PostgreSQL needs two packages that are not installed with Vivarium. Run: npm install pg @langchain/langgraph-checkpoint-postgres',
      { cause },
    );
  }
}

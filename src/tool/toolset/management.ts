import { isRefusal, readContext, type CallerIdentity } from '../call.ts';
import type { CallContext } from '../tool.ts';
import { RestartFailure, type ToolsetInterpreter, type Interpreters } from './interpreters.ts';
import type { ManageArguments, ManageResult } from './result.ts';

/** Creates, lists, deletes, restarts and interrupts interpreters. Errors of the caller are part of the result. */
export class Management {
  readonly #interpreters: Interpreters;

  constructor(interpreters: Interpreters) {
    this.#interpreters = interpreters;
  }

  manage({ operation, interpreter_id: id }: ManageArguments, context: CallContext | undefined): Promise<ManageResult> {
    return report(context, async (caller) => {
      switch (operation) {
        case 'create':
          return this.#create(caller);
        case 'list':
          return this.#list(caller);
        case 'delete':
          if (!id) return failure('interpreter_id is required for delete operation');
          return this.#with(id, caller, (entry) => this.#interpreters.delete(entry));
        case 'reset':
        case 'restart':
          return this.#with(id, caller, (entry) => this.#interpreters.restart(entry));
        case 'interrupt':
          return this.#with(id, caller, (entry) => this.#interpreters.interrupt(entry));
        default:
          return failure(`Unknown operation: ${operation}`);
      }
    });
  }

  async #create(caller: CallerIdentity): Promise<ManageResult> {
    return { success: true, interpreter_id: await this.#interpreters.create(caller) };
  }

  async #list(caller: CallerIdentity): Promise<ManageResult> {
    return { success: true, interpreters: this.#interpreters.list(caller) };
  }

  /** Applies `work` to the interpreter with this id; without an id, to that of the caller. */
  async #with(
    id: string | null | undefined,
    caller: CallerIdentity,
    work: (entry: ToolsetInterpreter) => Promise<void>,
  ): Promise<ManageResult> {
    const entry = id ? this.#interpreters.find(id, caller) : this.#interpreters.known(caller);
    if (entry === undefined) return failure(id ? `Interpreter ${id} not found` : 'There is no interpreter yet');
    await work(entry);
    return { success: true, interpreter_id: entry.id };
  }
}

async function report(
  context: CallContext | undefined,
  work: (caller: CallerIdentity) => Promise<ManageResult>,
): Promise<ManageResult> {
  try {
    return await work(readContext(context));
  } catch (error) {
    if (error instanceof RestartFailure) return failure(error.cause.message);
    if (isRefusal(error)) return failure(error.message);
    throw error;
  }
}

function failure(error: string): ManageResult {
  return { success: false, error };
}

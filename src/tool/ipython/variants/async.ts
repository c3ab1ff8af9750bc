import { z } from 'zod';
import { parse } from '../../../config.ts';
import type { ActionReturn } from '../../action/contract.ts';
import type { CallContext, CallOptions } from '../../tool.ts';
import { IPythonInterpreter } from '../ipython.ts';
import type { IPythonOptions } from '../options.ts';

/** The options of `AsyncIPythonInterpreter`. */
export interface AsyncIPythonOptions extends IPythonOptions {
  /** The most sessions at the same time; none by default. One more is refused until another is closed. */
  readonly maxKernels?: number | null;
  /** Another name of `maxKernels`. */
  readonly max_kernels?: number | null;
  /** No effect: a closed session is never handed on, since its files would go with it. */
  readonly reuse_kernel?: boolean;
  /** No effect: the host paces starts by itself. */
  readonly startup_rate?: number | boolean;
  /** No effect: there are no connection files. */
  readonly connection_dir?: string;
}

/** What a run that took too long is told, where the text does not have the limit. */
export const TIMED_OUT = 'The code interpreter encountered a timeout error.';

const MaxKernels = z.int().positive().nullish();
const Own = z.strictObject({
  maxKernels: MaxKernels,
  max_kernels: MaxKernels,
  reuse_kernel: z.boolean().optional(),
  startup_rate: z.union([z.number().positive(), z.boolean()]).optional(),
  connection_dir: z.string().optional(),
});

/** Who calls: the id of a session, or more about the call. */
type Caller<More> = string | More | null;

/** An `IPythonInterpreter` for many conversations at once, each with a session that is named by its id. */
export class AsyncIPythonInterpreter extends IPythonInterpreter {
  constructor(options: AsyncIPythonOptions = {}) {
    const { maxKernels, max_kernels, reuse_kernel, startup_rate, connection_dir, ...rest } = options;
    const own = parse(Own, { maxKernels, max_kernels, reuse_kernel, startup_rate, connection_dir });
    super(rest, {
      name: 'AsyncIPythonInterpreter',
      maxSessions: own.maxKernels ?? own.max_kernels ?? null,
      describeTimeout: () => TIMED_OUT,
    });
  }

  override run(command: string, timeout?: number | null, session: Caller<CallOptions> = null): Promise<ActionReturn> {
    return super.run(command, timeout, typeof session === 'string' ? { context: named(session) } : (session ?? {}));
  }

  override initialize(session: Caller<CallContext> = null): Promise<void> {
    return super.initialize(contextOf(session));
  }

  override reset(session: Caller<CallContext> = null): Promise<void> {
    return super.reset(contextOf(session));
  }

  override closeSession(session: Caller<CallContext> = null): Promise<void> {
    return super.closeSession(contextOf(session));
  }

  close_session(session: Caller<CallContext> = null): Promise<void> {
    return this.closeSession(session);
  }

  /** Same as `closeSession`: no process is left for others. */
  shutdown(session: Caller<CallContext> = null): Promise<void> {
    return this.closeSession(session);
  }
}

function contextOf(session: Caller<CallContext>): CallContext {
  return typeof session === 'string' ? named(session) : (session ?? {});
}

function named(sessionId: string): CallContext {
  return { sessionId };
}

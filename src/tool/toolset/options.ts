import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { Limits, parse } from '../../config.ts';
import type { Host } from '../../host/host.ts';
import { accessShape, type AccessOptions, type GivenAccess } from '../access.ts';

/** The options of `PythonInterpreterToolSet`. */
export interface ToolSetOptions extends AccessOptions {
  /** The name of the toolset. */
  readonly name: string;
  /**
   * The directory of the machine that interpreters work in; by default the current directory of the program. With `false`
   * each interpreter has an empty workspace of its own.
   */
  readonly workdir?: string | false | null;
  /** Whether interpreters may write to it: by default only if you name it. The current directory may hold your program. */
  readonly workdirWritable?: boolean;
  /** Shared with others and not closed here; without it the toolset starts its own. */
  readonly host?: Host | null;
  /** Another name of `host`. */
  readonly engine?: Host | null;
  /** Runs once in each interpreter; null for none. */
  readonly initCode?: string | null;
  /** Another name of `initCode`. */
  readonly init_code?: string | null;
  /** Longest run, in seconds; null or 0 for the longest possible limit, one day. */
  readonly timeout?: number | null;
  /** Runs the same code again after a crash, including its side effects. */
  readonly retryOnCrash?: boolean;
  /** Another name of `retryOnCrash`. */
  readonly retry_on_crash?: boolean;
  /** Most interpreters of this toolset. The host has its own caps. */
  readonly maxInterpreters?: number;
  /** Resident memory of an interpreter; by default the limit of the host. */
  readonly memoryMb?: number;
  /** The largest value of `result_var_name` that comes back whole, as JSON. */
  readonly maxResultMb?: number;
}

const MAX_TIMEOUT_S = 24 * 3600;

const Options = z.strictObject({
  name: z.string().min(1),
  workdir: z.union([z.string(), z.literal(false)]).nullish(),
  workdirWritable: z.boolean().optional(),
  initCode: z.string().nullish(),
  init_code: z.string().nullish(),
  timeout: z.number().nonnegative().max(MAX_TIMEOUT_S).nullable().default(600),
  retryOnCrash: z.boolean().optional(),
  retry_on_crash: z.boolean().optional(),
  maxInterpreters: z.int().positive().optional(),
  memoryMb: Limits.shape.memoryMb.unwrap().optional(),
  maxResultMb: z.number().positive().max(256).default(5),
  ...accessShape,
});

/** The options with all defaults filled in. */
export interface ToolSetSettings {
  readonly name: string;
  /** Null: each interpreter has a workspace of its own. */
  readonly workdir: string | null;
  /** Nobody has chosen it, so another one is taken where it cannot be used. */
  readonly isDefaultWorkdir: boolean;
  readonly workdirWritable: boolean;
  readonly initCode: string | null;
  readonly timeoutMs: number;
  /** Nobody has chosen it, so it may be shorter where a host allows no more. */
  readonly isDefaultTimeout: boolean;
  readonly retryOnCrash: boolean;
  readonly maxInterpreters: number;
  readonly memoryMb: number | undefined;
  readonly maxResultBytes: number;
  readonly access: GivenAccess;
}

export function parseToolSet(given: ToolSetOptions): ToolSetSettings {
  const { host: _, engine: __, ...options } = given;
  const { workdir, timeout, maxInterpreters, mounts, network, env, ...rest } = parse(Options, options);
  return {
    name: rest.name,
    workdir: workdir === false ? null : path.resolve(expandHome(workdir ?? '.')),
    isDefaultWorkdir: workdir == null,
    workdirWritable: rest.workdirWritable ?? typeof workdir === 'string',
    initCode: firstGiven(rest.initCode, rest.init_code),
    timeoutMs: Math.ceil((timeout || MAX_TIMEOUT_S) * 1000),
    isDefaultTimeout: options.timeout === undefined,
    retryOnCrash: rest.retryOnCrash ?? rest.retry_on_crash ?? false,
    maxInterpreters: maxInterpreters ?? Infinity,
    memoryMb: rest.memoryMb,
    maxResultBytes: Math.floor(rest.maxResultMb * 1_000_000),
    access: { mounts, network, env },
  };
}

/** Names that code for this toolset relies on. The host collects the figures; `plt.show` reports when there are none. */
const DEFAULT_INIT_CODE = `try:
    import os
    import uuid
    import matplotlib
    import matplotlib.pyplot as plt

    GLOBAL_FIG_DIR = ".matplotlib_figs" if os.access(".", os.W_OK) else os.path.join(os.environ["TMPDIR"], "matplotlib_figs")
    os.makedirs(GLOBAL_FIG_DIR, exist_ok=True)

    def _show(*args, _collect=plt.show, _open=matplotlib._pylab_helpers.Gcf.get_all_fig_managers, **options):
        if not any(manager.canvas.figure.axes for manager in _open()):
            print("No active figure to save.")
        return _collect(*args, **options)

    plt.show = _show
    del _show
except Exception as error:
    print(f"Error in matplotlib initialization: {error}")
`;

/** Null means no init code; undefined means the default. */
function firstGiven(...candidates: readonly (string | null | undefined)[]): string | null {
  const given = candidates.find((candidate) => candidate !== undefined);
  return given === undefined ? DEFAULT_INIT_CODE : given;
}

function expandHome(directory: string): string {
  return directory === '~' || directory.startsWith('~/') ? path.join(os.homedir(), directory.slice(1)) : directory;
}

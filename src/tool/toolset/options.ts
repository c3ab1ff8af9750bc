import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { Limits, parse } from '../../config.ts';
import type { Host } from '../../host/host.ts';
import { accessShape, type AccessOptions } from '../place/access.ts';
import { DEFAULT_INIT_CODE } from './init-code.ts';

export interface ToolSetOptions extends AccessOptions {
  readonly name: string;
  /** A directory of the host that interpreters work in; without it each has a workspace of its own. */
  readonly workdir?: string | null;
  /** Whether they may change what is there; true unless said otherwise. */
  readonly workdirWritable?: boolean;
  /** Shared by whoever was given it, and closed by nobody here; without it the toolset starts one of its own. */
  readonly engine?: Host | null;
  /** Runs once in each interpreter; null for nothing. */
  readonly initCode?: string | null;
  readonly init_code?: string | null;
  /** Seconds that one run may take; null or 0 for as long as a limit can be, which is a day. */
  readonly timeout?: number | null;
  /** Runs the same code again after a crash, side effects included. */
  readonly retryOnCrash?: boolean;
  readonly retry_on_crash?: boolean;
  /** Most interpreters of this toolset; the engine has caps of its own. */
  readonly maxInterpreters?: number;
  readonly memoryMb?: number;
}

const MAX_TIMEOUT_S = 24 * 3600;

const Options = z.strictObject({
  name: z.string().min(1),
  workdir: z.string().nullish(),
  workdirWritable: z.boolean().default(true),
  initCode: z.string().nullish(),
  init_code: z.string().nullish(),
  timeout: z.number().nonnegative().max(MAX_TIMEOUT_S).nullable().default(600),
  retryOnCrash: z.boolean().optional(),
  retry_on_crash: z.boolean().optional(),
  maxInterpreters: z.int().positive().optional(),
  memoryMb: Limits.shape.memoryMb.unwrap().optional(),
  ...accessShape,
});

/** What a toolset was made with, nothing left open. */
export interface ToolSetSettings {
  readonly name: string;
  readonly workdir: string | null;
  readonly workdirWritable: boolean;
  readonly initCode: string | null;
  readonly timeoutMs: number;
  readonly retryOnCrash: boolean;
  readonly maxInterpreters: number;
  readonly memoryMb: number | undefined;
  readonly access: Pick<z.infer<typeof Options>, 'mounts' | 'network' | 'environment'>;
}

export function parseToolSet(given: ToolSetOptions): ToolSetSettings {
  const { engine: _, ...options } = given;
  const { workdir, timeout, maxInterpreters, mounts, network, environment, ...rest } = parse(Options, options);
  return {
    name: rest.name,
    workdir: workdir == null ? null : path.resolve(expandHome(workdir)),
    workdirWritable: rest.workdirWritable,
    initCode: firstGiven(rest.initCode, rest.init_code),
    timeoutMs: Math.ceil((timeout || MAX_TIMEOUT_S) * 1000),
    retryOnCrash: rest.retryOnCrash ?? rest.retry_on_crash ?? false,
    maxInterpreters: maxInterpreters ?? Infinity,
    memoryMb: rest.memoryMb,
    access: { mounts, network, environment },
  };
}

/** Null is an answer, undefined is none. */
function firstGiven(...candidates: readonly (string | null | undefined)[]): string | null {
  const given = candidates.find((candidate) => candidate !== undefined);
  return given === undefined ? DEFAULT_INIT_CODE : given;
}

function expandHome(directory: string): string {
  return directory === '~' || directory.startsWith('~/') ? path.join(os.homedir(), directory.slice(1)) : directory;
}

import { randomUUID } from 'node:crypto';
import { VivariumError } from '../../errors.ts';
import type { PythonExecutionRequestInput } from '../../service/api/request.ts';
import type { Context } from '../terminal/context.ts';
import { namedFiles, readGiven } from '../session/user-files.ts';
import { follow } from '../service/follow.ts';
import {
  assertModel,
  configure,
  openService,
  systemUser,
  type ServiceFlags,
  type ServiceSetup,
} from '../service/open.ts';

export interface TaskFlags extends ServiceFlags {
  readonly file?: readonly string[];
  readonly context?: string;
  readonly expect?: readonly string[];
  readonly code?: string;
  readonly folder?: string;
  readonly thread?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const MAX_CONTEXT_CHARS = 16 << 20;

/** Runs a task: code is written, analyzed, approved, run and recorded. */
export async function task(objective: string, flags: TaskFlags, context: Context): Promise<number> {
  if (objective.trim() === '') {
    throw new VivariumError('USAGE', 'There is no task. Say what to find out or to make.');
  }
  const setup = await configure(flags, context);
  if (flags.code === undefined) assertModel(setup, context);
  const by = systemUser();
  const request = await requestOf(objective, flags, context, by);
  const files = Object.fromEntries(await namedFiles(flags.file ?? [], { takesDirectories: false }));
  await printConfigFile(setup, context);
  await using service = await openService(setup, flags, context);
  const configurable = { thread_id: flags.thread ?? randomUUID(), checkpoint_ns: 'python_executor', user_id: by };
  const events = service.stream(request, { configurable, files, signal: context.lifetime.signal });
  const { yes = false, json = false } = flags;
  return await follow(events, { service, by, yes, json, sameAgain: setup.sameAgain }, context);
}

async function requestOf(
  objective: string,
  flags: TaskFlags,
  context: Context,
  userId: string,
): Promise<PythonExecutionRequestInput> {
  return {
    userQuery: objective,
    taskObjective: objective,
    executionFolderName: flags.folder ?? folderNameOf(objective),
    expectedResults: expectedOf(flags.expect ?? []),
    capabilityContextData: flags.context === undefined ? null : await readContext(flags.context, context),
    approvedCode: flags.code === undefined ? null : await readGiven('--code', flags.code, context),
    sessionContext: { userId },
  };
}

/** Parses each `NAME=TYPE`. */
function expectedOf(pairs: readonly string[]): Record<string, string> {
  const expected = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const [name, type] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (at < 1 || name === '' || type === '') {
      throw new VivariumError('USAGE', `Cannot read --expect ${pair}. Write NAME=TYPE, such as mean=float.`);
    }
    if (expected.has(name)) throw new VivariumError('USAGE', `--expect gives ${name} twice. Give it once.`);
    expected.set(name, type);
  }
  return Object.fromEntries(expected);
}

async function readContext(file: string, context: Context): Promise<Record<string, unknown>> {
  const text = await readGiven('--context', file, context);
  if (text.length > MAX_CONTEXT_CHARS) {
    throw new VivariumError(
      'USAGE',
      `--context ${file} is longer than ${MAX_CONTEXT_CHARS} characters. Pass large data with --file.`,
    );
  }
  const value = parseJson(text, file);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new VivariumError('USAGE', `--context ${file} is not a JSON object. Write {"TYPE": {"key": {"field": …}}}.`);
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new VivariumError('USAGE', `--context ${file} is not valid JSON: ${why}. Correct the file.`, {
      cause: error,
    });
  }
}

/** The first words of the task as a folder name. */
function folderNameOf(objective: string): string {
  const words = objective.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.join('-').slice(0, 40).replace(/-+$/, '') || 'task';
}

/** The configuration determines which code needs approval, so say which one is used. */
async function printConfigFile({ configFile }: ServiceSetup, { stderr }: Context): Promise<void> {
  await stderr.line(
    stderr.style(
      'dim',
      configFile === undefined ? 'no config.yml here: all code needs approval' : `configuration: ${configFile}`,
    ),
  );
}

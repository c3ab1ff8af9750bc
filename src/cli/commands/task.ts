import { randomUUID } from 'node:crypto';
import { VivariumError } from '../../errors.ts';
import type { PythonExecutionRequestInput } from '../../service/api/request.ts';
import type { Context } from '../context.ts';
import { namedFiles, readGiven } from '../given-files.ts';
import { follow } from '../service/course.ts';
import { assertModel, configure, openService, systemUser, type ServiceFlags, type Setup } from '../service/open.ts';

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

/** Has a task done: code is written, judged, approved, run and recorded. */
export async function task(objective: string, flags: TaskFlags, context: Context): Promise<number> {
  if (objective.trim() === '') {
    throw new VivariumError('USAGE', 'There is no task. Say what is to be found out or made.');
  }
  const setup = await configure(flags, context);
  if (flags.code === undefined) assertModel(setup, context);
  const by = systemUser();
  const request = await requestOf(objective, flags, context, by);
  const files = Object.fromEntries(await namedFiles(flags.file ?? []));
  await sayWhichRules(setup, context);
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

/** Reads `NAME=TYPE`, each of them. */
function expectedOf(pairs: readonly string[]): Record<string, string> {
  const expected = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const [name, type] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (at < 1 || name === '' || type === '') {
      throw new VivariumError('USAGE', `--expect ${pair} is not understood. Write NAME=TYPE, such as mean=float.`);
    }
    if (expected.has(name)) throw new VivariumError('USAGE', `--expect names ${name} twice. Say once what it is.`);
    expected.set(name, type);
  }
  return Object.fromEntries(expected);
}

async function readContext(file: string, context: Context): Promise<Record<string, unknown>> {
  const text = await readGiven('--context', file, context);
  if (text.length > MAX_CONTEXT_CHARS) {
    throw new VivariumError('USAGE', `--context ${file} is longer than ${MAX_CONTEXT_CHARS} characters. Use --file.`);
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
    throw new VivariumError('USAGE', `--context ${file} is not JSON: ${why}. Correct it.`, { cause: error });
  }
}

/** The first words of the task, as far as they make a name. */
function folderNameOf(objective: string): string {
  const words = objective.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.join('-').slice(0, 40).replace(/-+$/, '') || 'task';
}

/** What is asked about follows from the configuration, so it is said which one holds. */
async function sayWhichRules({ configFile }: Setup, { stderr }: Context): Promise<void> {
  await stderr.line(
    stderr.style(
      'dim',
      configFile === undefined ? 'no config.yml here: all code is asked about' : `configuration: ${configFile}`,
    ),
  );
}

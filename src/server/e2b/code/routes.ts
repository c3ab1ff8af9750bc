/** The interpreter of a sandbox: code is run in contexts. */
import { z } from 'zod';
import { Variables } from '../../../config.ts';
import { VivariumError } from '../../../errors.ts';
import { sendJson, sendNothing } from '../../http/answer.ts';
import { readJson } from '../../http/body.ts';
import type { ServerContext } from '../../parts/parts.ts';
import { HOME } from '../files/paths.ts';
import type { CodeContext } from '../interpreter/context.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { sendPieces } from '../stream/pieces.ts';

const PULSE_MS = 15_000;
const LANGUAGE = 'python';

const ExecuteBody = z.object({
  code: z.string(),
  context_id: z.string().nullish(),
  language: z.string().nullish(),
  env_vars: Variables.nullish(),
});
const ContextBody = z.object({ language: z.string().nullish(), cwd: z.string().nullish() });

/** Runs code and answers with a line for everything that happens. A client that leaves interrupts the code. */
export async function execute(c: ServerContext, sandbox: Sandbox): Promise<Response> {
  const { code, context_id: id, language, env_vars: variables } = await readJson(c, ExecuteBody);
  assertPython(language);
  const context = sandbox.getContext(id ?? undefined);
  await sandbox.quota.assertRoom();
  sandbox.quota.hasten();
  return sendPieces(c, {
    contentType: 'application/x-ndjson',
    keepAlive: { everyMs: PULSE_MS, piece: toLine({ type: 'keepalive' }) },
    pieces: (signal) => linesOf(context, { code, variables: variables ?? {}, signal }),
  });
}

export function listContexts(c: ServerContext, sandbox: Sandbox): Response {
  return sendJson(c, 200, sandbox.contexts.map(toView));
}

export async function createContext(c: ServerContext, sandbox: Sandbox): Promise<Response> {
  const { language, cwd } = await readJson(c, ContextBody);
  assertPython(language);
  await sandbox.quota.assertRoom();
  return sendJson(c, 200, toView(await sandbox.createContext(cwd ?? HOME)));
}

export async function removeContext(c: ServerContext, sandbox: Sandbox): Promise<Response> {
  await sandbox.removeContext(c.req.param('id') ?? '');
  return sendNothing(c);
}

export async function restartContext(c: ServerContext, sandbox: Sandbox): Promise<Response> {
  await sandbox.getContext(c.req.param('id')).restart();
  return sendNothing(c);
}

/** What prevents a run once the answer has begun is told as an error of the run. */
async function* linesOf(
  context: CodeContext,
  run: Parameters<CodeContext['run']>[0],
): AsyncGenerator<string, void, undefined> {
  try {
    for await (const line of context.run(run)) yield toLine(line);
  } catch (error) {
    if (!(error instanceof VivariumError)) throw error;
    yield toLine({ type: 'error', name: error.code, value: error.message, traceback: '' });
  }
}

function toLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

function toView({ id, cwd }: CodeContext): object {
  return { id, language: LANGUAGE, cwd };
}

/** As not found, because that is the error whose message the SDKs show. */
function assertPython(language: string | null | undefined): void {
  if (language === undefined || language === null || /^python3?$/i.test(language)) return;
  throw new VivariumError('NOT_FOUND', `The language ${language.slice(0, 50)} is not there: Vivarium runs Python.`);
}

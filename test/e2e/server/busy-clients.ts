/** Clients that use a server until it is gone, and remember what it told them. */
import type { Execution } from '../../../src/execution/execution.ts';
import type { Answer, Ask, Sent } from './served.ts';

const TASK = { taskObjective: 'Add one and two', approvedCode: 'results = {"sum": 1 + 2}' };
const UPLOAD = 'x'.repeat(2 << 20);

/** A request with an idempotency key. Its code leaves a mark each time that it runs. */
export interface MarkedRequest {
  readonly key: string;
  readonly where: string;
  readonly body: { readonly code: string };
  /** Undefined if the server was gone before it answered. */
  answer: Answer | undefined;
}

/** What servers have answered, and must not forget. */
export class Memory {
  readonly requests: MarkedRequest[] = [];
  readonly executions: Execution[] = [];
  readonly artifacts: { readonly id: string; readonly content: string }[] = [];
  readonly approvals: string[] = [];
}

export interface Scene {
  readonly ask: Ask;
  readonly memory: Memory;
  /** Distinguishes this round from others. */
  readonly round: number;
  /** A directory that sessions may mount. */
  readonly shared: string;
}

/** Everything at the same time. Resolves when the server is gone; `onBusy` is called when all have got something done. */
export async function useUntilGone(scene: Scene, onBusy: () => void): Promise<void> {
  const jobs = [runMarked, runMarkedOnce, makeArtifacts, upload, askForApprovals];
  let waiting = jobs.length;
  await Promise.all(
    jobs.map((job) =>
      untilGone(async (turn) => {
        await job(scene, turn);
        if (turn === 0 && (waiting -= 1) === 0) onBusy();
      }),
    ),
  );
}

/** A session that can leave marks. */
export async function openMarking({ ask, shared }: Pick<Scene, 'ask' | 'shared'>, id: string): Promise<void> {
  await ok(ask, 'POST', '/v1/sessions', { body: { id, mounts: [marks(shared)] } });
}

export function resend(ask: Ask, { key, where, body }: MarkedRequest): Promise<Answer> {
  return ask('POST', where, { body, headers: { 'idempotency-key': key } });
}

async function runMarked({ ask, memory, round, shared }: Scene, turn: number): Promise<void> {
  const id = `marked-${round}`;
  if (turn === 0) await openMarking({ ask, shared }, id);
  const key = `session ${round} ${turn}`;
  await send(ask, memory, { key, where: `/v1/sessions/${id}/runs`, body: { code: leaveMark(key) } });
}

async function runMarkedOnce({ ask, memory, round, shared }: Scene, turn: number): Promise<void> {
  const key = `once ${round} ${turn}`;
  const body = { code: leaveMark(key), mounts: [marks(shared)] };
  await send(ask, memory, { key, where: '/v1/runs/once', body });
}

async function makeArtifacts({ ask, memory, round }: Scene, turn: number): Promise<void> {
  const content = `made in turn ${turn} of round ${round}`;
  const code = `open("made.txt", "w").write(${JSON.stringify(content)})`;
  const execution = (await ok(ask, 'POST', '/v1/runs', { body: { code, chatId: `files-${round}` } })) as Execution;
  memory.executions.push(execution);
  for (const { id } of execution.files) if (id !== undefined) memory.artifacts.push({ id, content });
}

async function upload({ ask, round }: Scene, turn: number): Promise<void> {
  const id = `upload-${round}`;
  if (turn === 0) await ok(ask, 'POST', '/v1/sessions', { body: { id } });
  await ok(ask, 'PUT', `/v1/sessions/${id}/files/large.txt`, { body: UPLOAD });
}

async function askForApprovals({ ask, memory }: Scene): Promise<void> {
  const { approval } = (await ok(ask, 'POST', '/v1/tasks', { body: TASK })) as { approval: { id: string } };
  memory.approvals.push(approval.id);
}

async function send(ask: Ask, memory: Memory, asked: Omit<MarkedRequest, 'answer'>): Promise<void> {
  const request: MarkedRequest = { ...asked, answer: undefined };
  memory.requests.push(request);
  request.answer = await resend(ask, request);
  if (request.answer.status !== 200) throw new Error(JSON.stringify(request.answer.body));
  memory.executions.push(request.answer.body as Execution);
}

async function ok(ask: Ask, method: string, where: string, sent: Sent): Promise<unknown> {
  const { status, body } = await ask(method, where, sent);
  if (status >= 300) throw new Error(`${method} ${where}: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** Again and again. That the server is gone is the end; anything else is an error. */
async function untilGone(work: (turn: number) => Promise<void>): Promise<void> {
  try {
    for (let turn = 0; ; turn += 1) await work(turn);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // that is what fetch throws when a connection is lost
  }
}

function leaveMark(key: string): string {
  return `with open("/marks/marks", "a") as file: _ = file.write(${JSON.stringify(`${key}\n`)})`;
}

function marks(shared: string): object {
  return { source: shared, target: '/marks', writable: true };
}

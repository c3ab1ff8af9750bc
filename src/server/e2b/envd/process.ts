/** The service `process.Process` of a sandbox. */
import { z } from 'zod';
import { Variables } from '../../../config.ts';
import { SandboxProcess } from '../process/sandbox-process.ts';
import { RpcError } from '../stream/rpc-error.ts';
import { streaming, unary, type RpcCall, type RpcMethod } from './service.ts';

const Config = z.object({
  cmd: z.string().min(1),
  args: z.array(z.string()).default([]),
  envs: Variables.default({}),
  cwd: z.string().optional(),
});
const Start = z.object({
  process: Config,
  pty: z.unknown().optional(),
  tag: z.string().max(500).optional(),
  stdin: z.boolean().default(true),
});
const Selector = z
  .object({ pid: z.int().nonnegative().optional(), tag: z.string().optional() })
  .refine(({ pid, tag }) => pid !== undefined || tag !== undefined, 'must have a pid or a tag');
const Selected = z.object({ process: Selector });
const Bytes = z.base64().transform((text) => Buffer.from(text, 'base64'));

/** By the names of the protocol and by their numbers. */
const SIGNALS = new Map<string | number, NodeJS.Signals>([
  ['SIGNAL_SIGTERM', 'SIGTERM'],
  ['SIGNAL_SIGKILL', 'SIGKILL'],
  [15, 'SIGTERM'],
  [9, 'SIGKILL'],
]);
const PULSE = { event: { keepalive: {} } };

export const PROCESS: Readonly<Record<string, RpcMethod>> = {
  List: unary(z.object({}), (_, { processes }) => ({
    processes: processes.list().map(({ pid, tag, config }) => ({ pid, tag, config })),
  })),
  Start: streaming(Start, PULSE, start),
  Connect: streaming(Selected, PULSE, connect),
  SendInput: unary(
    Selected.extend({ input: z.object({ stdin: Bytes.optional(), pty: z.unknown().optional() }) }),
    async ({ process: selector, input }, { processes }) => {
      const process = processes.get(selector);
      if (input.pty !== undefined || input.stdin === undefined) throw noTerminal();
      if (!process.hasInput) {
        throw new RpcError('failed_precondition', 'stdin is closed: start the command with stdin enabled.');
      }
      await process.command.write(input.stdin);
    },
  ),
  CloseStdin: unary(Selected, ({ process }, { processes }) => processes.get(process).command.closeInput()),
  SendSignal: unary(
    Selected.extend({ signal: z.union([z.string(), z.int()]) }),
    async ({ process: selector, signal }, { processes }) => {
      const process = processes.get(selector);
      const name = SIGNALS.get(signal);
      if (name === undefined) throw new RpcError('invalid_argument', 'signal must be SIGTERM or SIGKILL');
      await process.command.kill(name);
    },
  ),
  Update: unary(z.unknown(), () => {
    throw noTerminal();
  }),
};

async function* start(request: z.infer<typeof Start>, call: RpcCall): AsyncGenerator<object, void, undefined> {
  if (request.pty !== undefined) throw noTerminal();
  const { sandbox, timeoutMs } = call;
  const { process: config, tag, stdin: hasInput } = request;
  await sandbox.quota.assertRoom();
  const process = new SandboxProcess(config, { tag, hasInput });
  const events = process.read(); // before it begins, so that nothing is missed
  await sandbox.processes.start(process, timeoutMs);
  sandbox.quota.hasten();
  yield* tell(process, events, call.gone);
  if (process.isLate) throw new RpcError('deadline_exceeded', `the command took longer than ${timeoutMs} ms`);
}

async function* connect(
  { process: selector }: z.infer<typeof Selected>,
  { sandbox, gone }: RpcCall,
): AsyncGenerator<object, void, undefined> {
  const process = sandbox.processes.get(selector);
  yield* tell(process, process.read(), gone);
}

/** A reader that leaves does not end the process. */
async function* tell(
  process: SandboxProcess,
  events: ReturnType<SandboxProcess['read']>,
  gone: AbortSignal,
): AsyncGenerator<object, void, undefined> {
  const leave = (): void => process.stopReading(events);
  gone.addEventListener('abort', leave, { once: true });
  try {
    yield { event: { start: { pid: process.pid } } };
    for await (const event of events) yield { event };
  } finally {
    leave();
    gone.removeEventListener('abort', leave);
  }
}

function noTerminal(): RpcError {
  return new RpcError('unimplemented', 'Terminals (PTY) are not supported by Vivarium. Run commands without one.');
}

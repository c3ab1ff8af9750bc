import { randomUUID } from 'node:crypto';
import { ProtocolViolation } from '../../hostile-json.ts';
import { encodeRequest, parseMessage, type ExecuteRequest, type KernelMessage, type KernelReply } from './message.ts';
import type { JupyterServer } from '../server/server.ts';

const CONNECT_TIMEOUT_MS = 30_000;
/** Reply and idle status come through different sockets. Once one of them is here, the other has this much time. */
const STRAGGLER_MS = 10_000;
const DEATHS = new Set(['restarting', 'autorestarting', 'dead']);

/** How a request ended: it was answered, or the kernel was lost first. `isWhole`: everything that belongs to it has come. */
export type RequestEnding = { readonly reply: KernelReply; readonly isWhole: boolean } | { readonly loss: string };

/** Code that was sent. */
export interface KernelRequest {
  /** Resolves when the kernel has begun with it and can be interrupted, or when it is over. */
  readonly started: Promise<void>;
  readonly ending: Promise<RequestEnding>;
}

interface PendingRequest {
  readonly isSilent: boolean;
  readonly onMessage: ((message: KernelMessage) => void) | undefined;
  readonly start: () => void;
  readonly end: (ending: RequestEnding) => void;
  reply: KernelReply | null;
  isIdle: boolean;
  straggler: NodeJS.Timeout | undefined;
}

/** The WebSocket to one kernel. It sends requests and assigns messages to them. */
export class KernelChannel {
  /** Gets messages that belong to no pending request, such as output of threads that outlived theirs. */
  onBackground: ((message: KernelMessage) => void) | null = null;
  /** Whether, as far as is known, only the connection was lost. */
  isBroken = false;
  readonly #socket: WebSocket;
  readonly #session = randomUUID();
  readonly #pending = new Map<string, PendingRequest>();
  #loss: string | null = null;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    socket.addEventListener('close', () => {
      this.isBroken = this.isOpen;
      this.lose('the connection to the Jupyter server broke off');
    });
  }

  static async open(server: JupyterServer, kernelId: string, signal?: AbortSignal): Promise<KernelChannel> {
    signal?.throwIfAborted();
    const socket = server.socket(`api/kernels/${encodeURIComponent(kernelId)}/channels`);
    const opened = Promise.withResolvers<void>();
    const fail = (): void => opened.reject(new Error('the connection was refused or took too long'));
    const timer = setTimeout(fail, CONNECT_TIMEOUT_MS);
    socket.addEventListener('open', () => opened.resolve(), { once: true });
    socket.addEventListener('error', fail, { once: true });
    socket.addEventListener('close', fail, { once: true });
    signal?.addEventListener('abort', fail, { once: true });
    try {
      await opened.promise;
      return new KernelChannel(socket);
    } catch (error) {
      socket.close();
      signal?.throwIfAborted();
      throw server.unreachable(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', fail);
    }
  }

  get isOpen(): boolean {
    return this.#loss === null;
  }

  send(request: ExecuteRequest, onMessage?: (message: KernelMessage) => void): KernelRequest {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<RequestEnding>();
    void ended.promise.then(() => started.resolve());
    if (this.#loss === null) {
      const { id, text } = encodeRequest(this.#session, request);
      const { isSilent } = request;
      const steps = { start: started.resolve, end: ended.resolve };
      this.#pending.set(id, { isSilent, onMessage, ...steps, reply: null, isIdle: false, straggler: undefined });
      this.#socket.send(text);
    } else ended.resolve({ loss: this.#loss });
    return { started: started.promise, ending: ended.promise };
  }

  /** Ends every request, because the kernel is gone or given up. */
  lose(reason: string): void {
    if (this.#loss !== null) return;
    this.#loss = reason;
    for (const pending of this.#pending.values()) {
      clearTimeout(pending.straggler);
      pending.end({ loss: reason });
    }
    this.#pending.clear();
    this.#socket.close();
  }

  #receive(data: unknown): void {
    if (typeof data !== 'string' || this.#loss !== null) return; // binary messages belong to widgets, which we do not show
    try {
      const message = parseMessage(data);
      if (message !== null) this.#take(message);
    } catch (error) {
      if (!(error instanceof ProtocolViolation)) throw error;
      this.lose(`the kernel broke the protocol: ${error.message}`);
    }
  }

  #take(message: KernelMessage): void {
    if (message.type === 'status' && DEATHS.has(message.content.execution_state)) {
      this.lose(`the kernel died (its server calls it "${message.content.execution_state}")`);
      return;
    }
    if (message.type === 'oversized') for (const { onMessage } of this.#pending.values()) onMessage?.(message);
    const pending = message.parent === null ? undefined : this.#pending.get(message.parent);
    if (message.parent === null || pending === undefined) this.onBackground?.(message);
    else this.#advance(message.parent, pending, message);
  }

  /** A request is over when its reply is here and the kernel is idle again. Then its output is complete. */
  #advance(id: string, pending: PendingRequest, message: KernelMessage): void {
    if (message.type === 'execute_reply') pending.reply = message.content;
    else if (message.type === 'status') pending.isIdle = message.content.execution_state === 'idle';
    else if (message.type !== 'execute_input') pending.onMessage?.(message);
    // From here on an interrupt reaches it. Silent code gives no earlier sign.
    if (message.type === 'execute_input' || pending.isSilent) pending.start();
    const finish = (): void => {
      clearTimeout(pending.straggler);
      this.#pending.delete(id);
      pending.end({ reply: pending.reply ?? { status: 'aborted' }, isWhole: pending.isIdle });
    };
    clearTimeout(pending.straggler);
    if (pending.reply !== null && pending.isIdle) finish();
    else if (pending.reply !== null || pending.isIdle) pending.straggler = setTimeout(finish, STRAGGLER_MS);
  }
}

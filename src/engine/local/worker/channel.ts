import { setImmediate } from 'node:timers/promises';
import type { ProtocolViolation } from '../../hostile-json.ts';
import type { WorkerConnections } from '../instance/worker-socket.ts';
import { encodeFrame, FrameReader, readFrames } from '../protocol/frames.ts';
import { parseWorkerFrame, type WorkerFrame } from '../protocol/worker-frame.ts';
import { Marks } from './marks.ts';
import { OutputPipe } from './output-pipe.ts';

export interface ChannelListener {
  onFrame(frame: WorkerFrame): void;
  onViolation(error: ProtocolViolation): void;
}

/** The three connections of a worker: control frames, stdout and stderr. A twin that takes over inherits them. */
export class WorkerChannel {
  readonly stdout: OutputPipe;
  readonly stderr: OutputPipe;
  readonly marks = new Marks();
  readonly #connections: WorkerConnections;
  readonly #reader = new FrameReader();

  constructor(connections: WorkerConnections, listener: ChannelListener) {
    this.#connections = connections;
    this.stdout = new OutputPipe(connections.stdout, this.marks.prefix);
    this.stderr = new OutputPipe(connections.stderr, this.marks.prefix);
    readFrames(connections.control, this.#reader, {
      frame: (frame) => listener.onFrame(parseWorkerFrame(frame)),
      violation: (error) => listener.onViolation(error),
    });
    connections.control.resume();
  }

  send(frame: object): void {
    this.#connections.control.write(encodeFrame(frame));
  }

  /** Resolves when the frame is in the connection, and at the latest when the connection is closed. */
  sent(frame: object): Promise<void> {
    return new Promise((resolve) => {
      this.#connections.control.write(encodeFrame(frame), () => resolve());
    });
  }

  /** Whether output is not being read because its consumer is slow, or was not until just now. */
  get isOutputHeldUp(): boolean {
    return this.stdout.isHeldUp || this.stderr.isHeldUp;
  }

  /** Leaves output where it is, or lets it come on. */
  holdOutput(isHeld: boolean): void {
    for (const pipe of [this.stdout, this.stderr]) {
      if (isHeld) pipe.pause();
      else pipe.resume();
    }
  }

  /** Resolves once both streams have reached the mark that was set last. */
  async reachMarks(): Promise<true> {
    await Promise.all([this.stdout.complete(), this.stderr.complete()]);
    return true;
  }

  /** The worker is lost: output up to a new mark, which is returned, still counts as output of its run. */
  replaceMark(): string {
    const mark = this.marks.next();
    this.stdout.remark(mark);
    this.stderr.remark(mark);
    return this.marks.textOf(mark);
  }

  /** Drops everything up to the token, which only the twin knows: a lost worker may have left half a frame. */
  skipTo(token: Buffer): Promise<void> {
    return this.#reader.skipTo(token);
  }

  /** Shows the twin where our frames begin. */
  writeToken(token: Buffer): void {
    this.#connections.control.write(token);
  }

  /** Waits until everything in the control connection was read: a whole turn of the event loop brought nothing new. */
  async drain(): Promise<void> {
    const { control } = this.#connections;
    let before = -1;
    for (let read = 0; read !== before || control.isPaused(); read = control.bytesRead) {
      before = read;
      await setImmediate();
    }
  }

  close(): void {
    this.#connections.control.destroy();
    this.stdout.close();
    this.stderr.close();
  }
}

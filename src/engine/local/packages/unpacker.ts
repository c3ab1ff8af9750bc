import type { Socket } from 'node:net';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import { UNPACKER_FILE } from '../../python-files.ts';
import { inLine } from '../../../text/in-line.ts';
import { spawnPython } from '../instance/python-process.ts';
import { encodeFrame, FrameReader, readFrames } from '../protocol/frames.ts';

/** What unpacks wheels: a Python process of ours. */
export interface Unpacker {
  readonly python: string;
  readonly cacheDir: string;
}

/** A wheel in a directory, and where in that directory it is unpacked. */
export interface UnpackOrder {
  readonly name: string;
  readonly file: string;
  readonly target: string;
}

const Answer = z.object({ problem: z.string().nullable(), name: z.string().nullable() });

/** Unpacks wheels in a process that can write nothing but this directory. Beside each is a file about what it holds. */
export async function unpackWheels(
  { python, cacheDir }: Unpacker,
  directory: string,
  wheels: readonly UnpackOrder[],
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  const { child, channels, ended } = spawnPython({ python, cacheDir, file: UNPACKER_FILE, channels: 1 });
  const channel = channels[0] as Socket;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  readFrames(channel, new FrameReader(), { frame: ({ header }) => resolve(header), violation: () => resolve(null) });
  const stop = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', stop, { once: true });
  try {
    channel.write(encodeFrame({ directory, wheels }));
    const answer = Answer.safeParse(await Promise.race([promise, ended])).data;
    signal?.throwIfAborted();
    if (answer === undefined) throw failed('a package', (await ended).split('\n').at(-1) ?? '');
    if (answer.problem !== null) throw failed(`"${answer.name ?? ''}"`, inLine(answer.problem));
  } finally {
    signal?.removeEventListener('abort', stop);
    channel.destroy();
    stop();
  }
}

function failed(what: string, problem: string): VivariumError {
  return new VivariumError(
    'PACKAGE_UNAVAILABLE',
    `The wheel of ${what} was refused: ${problem}. Nothing was installed; ask for another version, or use another package.`,
  );
}

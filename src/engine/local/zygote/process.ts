import type { Socket } from 'node:net';
import { ZYGOTE_FILE } from '../../python-files.ts';
import { encodeFrame } from '../protocol/frames.ts';
import { spawnPython, type PythonProcess } from '../instance/python-process.ts';

/** A zygote that waits for its configuration. It can be started before the configuration is known. */
export interface ZygoteProcess extends Omit<PythonProcess, 'channels'> {
  readonly python: string;
  readonly cacheDir: string;
  readonly control: Socket;
  /** Leads to the surveyor that the zygote forks. */
  readonly surveyor: Socket;
}

/** Starts the Python of a zygote. */
export function spawnZygote(python: string, cacheDir: string): ZygoteProcess {
  const { child, channels, ended } = spawnPython({ python, cacheDir, file: ZYGOTE_FILE, channels: 2 });
  const [control, surveyor] = channels as [Socket, Socket];
  return { python, cacheDir, child, control, surveyor, ended };
}

/** What a zygote is configured with. */
export interface ZygoteConfig {
  readonly level: string;
  readonly instance: string;
  readonly sessions: string;
  readonly socket: string;
  readonly cache: string;
  readonly cgroups: boolean;
  readonly preload: readonly string[];
  readonly ahead: number;
  /** Of most sessions, for which loaded libraries are prepared. */
  readonly limits: object;
  readonly twinDelayMs: number;
}

export function configureZygote({ control }: ZygoteProcess, config: ZygoteConfig): void {
  control.write(encodeFrame(config));
}

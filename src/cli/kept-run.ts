/** A run of which everything is wanted: the whole result, and the files that it makes. */
import path from 'node:path';
import type { Event } from '../execution/event.ts';
import type { Execution } from '../execution/execution.ts';
import { Transcript } from '../execution/transcript.ts';
import { openForProgram, type ProgramSession } from '../host/program.ts';
import { RunFolder } from '../tool/code-interpreter/artifact-folder.ts';
import type { Context } from './context.ts';
import { HandOver } from './hand-over.ts';
import { parseMount, type SessionFlags } from './options.ts';
import { show, type Opened } from './session.ts';

export interface KeptRun {
  readonly opened: Opened;
  readonly program: { readonly name: string; readonly code: string };
  readonly flags: SessionFlags & { readonly json?: boolean; readonly outputDir?: string };
}

export async function runKept({ opened, program, flags }: KeptRun, context: Context): Promise<Execution> {
  const { session: inner, config, python } = opened;
  const { echo, mount = [], allowNetwork = false, json, outputDir } = flags;
  const options = { echo, mounts: mount.map(parseMount), network: allowNetwork, idleMs: null };
  await using home = openForProgram({
    inner,
    config,
    pythonVersion: python.version,
    filename: program.name,
    options,
  });
  const transcript = new Transcript(config.limits.outputBytes);
  const events = heard(home.session.stream(program.code, { signal: context.lifetime.signal }), transcript);
  if (json) await Array.fromAsync(events, () => undefined);
  else await show(events, context);
  const execution = transcript.execution();
  if (outputDir !== undefined) await handOver(execution, { home, directory: path.resolve(outputDir) }, context);
  return execution;
}

async function* heard(events: AsyncIterable<Event>, transcript: Transcript): AsyncGenerator<Event, void, undefined> {
  for await (const event of events) {
    transcript.add(event);
    yield event;
  }
}

/** Says where things are on standard error: standard output belongs to the program, or to the document. */
async function handOver(
  execution: Execution,
  { home, directory }: { readonly home: ProgramSession; readonly directory: string },
  { stderr }: Context,
): Promise<void> {
  const hands = new HandOver({
    artifacts: home.artifacts,
    folder: new RunFolder(directory),
    tell: async (words) => {
      await stderr.endLine();
      await stderr.relay(`vivarium: ${words}\n`);
    },
  });
  await hands.pictures(execution);
  await hands.files(execution);
  await hands.outputs(execution);
}

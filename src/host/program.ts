import type { ArtifactStore } from '../artifact/store.ts';
import type { Config } from '../config.ts';
import type { EngineSession } from '../engine/engine.ts';
import { openArtifacts } from './artifacts.ts';
import { keyOfId } from './keys.ts';
import { SettingsParser, type SessionOptions } from './options.ts';
import { HostedSession } from './hosted-session.ts';
import type { Session } from './session.ts';

export interface ProgramParts {
  /** A session of an engine that nobody else uses; whoever opened it closes it. */
  readonly inner: EngineSession;
  readonly config: Config;
  readonly pythonVersion: string;
  /** What tracebacks call the program. */
  readonly filename: string;
  readonly options: SessionOptions;
}

export interface ProgramSession extends AsyncDisposable {
  readonly session: Session;
  readonly artifacts: ArtifactStore;
}

/** A session for one program, without an interpreter around it: what the program leaves behind is kept as always. */
export function openForProgram({ inner, config, pythonVersion, filename, options }: ProgramParts): ProgramSession {
  const artifacts = openArtifacts(config);
  const session = new HostedSession(
    {
      inner: withFilename(inner, filename),
      key: keyOfId(inner.id),
      settings: new SettingsParser(config, null).parseSession(options),
      maxQueue: config.maxQueue,
      artifacts: artifacts.writerFor(null),
      pythonVersion,
      isForOneRun: true,
    },
    { onEnd: () => undefined, onGone: () => undefined },
  );
  return {
    session,
    artifacts,
    async [Symbol.asyncDispose]() {
      using _ = artifacts;
      await session.close();
      await artifacts.trim(); // this process will not be there when it is time for it
    },
  };
}

function withFilename(inner: EngineSession, filename: string): EngineSession {
  return {
    id: inner.id,
    get workspace() {
      return inner.workspace;
    },
    isolation: inner.isolation,
    revive: () => inner.revive(),
    run: (request, hear) => inner.run({ ...request, filename }, hear),
    stream: (request) => inner.stream({ ...request, filename }),
    interrupt: () => inner.interrupt(),
    rollback: () => inner.rollback(),
    reset: () => inner.reset(),
    inspect: () => inner.inspect(),
    writeTable: (request) => inner.writeTable(request),
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner.close(),
  };
}

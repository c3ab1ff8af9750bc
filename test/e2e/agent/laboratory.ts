/** What the tests of agents share: one interpreter with the tools that users have, and a model that follows a script. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { defaultModel } from '../../../src/model/openai.ts';
import type { Host } from '../../../src/host/host.ts';
import { createHost } from '../../../src/host/local/local-host.ts';
import { CodeInterpreterTool, PythonInterpreterToolSet, type Tool } from '../../../src/tools.ts';
import { OpenAIServer, type Reply, type Script } from '../../support/openai-server.ts';

interface Laboratory {
  readonly host: Host;
  /** Runs each program by itself. */
  readonly tool: CodeInterpreterTool;
  /** Keeps the variables of each client. */
  readonly toolset: PythonInterpreterToolSet;
  /** `run_python_code` of the toolset. */
  readonly python: Tool;
}

/** Tools on an interpreter that lives as long as the tests of the file. */
export function useHost(): Laboratory {
  let host: Host;
  let artifactDir: string;
  beforeAll(async () => {
    artifactDir = await mkdtemp(path.join(tmpdir(), 'vivarium-agent-'));
    host = await createHost({ preload: ['matplotlib.pyplot'], poolSize: 1 });
  });
  afterAll(async () => {
    await host.close();
    await rm(artifactDir, { recursive: true, force: true });
  });
  return {
    get host() {
      return host;
    },
    get tool() {
      return new CodeInterpreterTool({ host, artifactDir, timeout: 60, memoryLimitMb: 1024 });
    },
    get toolset() {
      return new PythonInterpreterToolSet({ name: 'python', host, workdir: false });
    },
    get python() {
      const [python] = this.toolset.tools();
      if (python === undefined) throw new Error('the toolset has no tools');
      return python;
    },
  };
}

/** A server that lives as long as the test, and a model behind it. */
export async function script(
  replies: Script | readonly Reply[],
  options: { maxRetries?: number } = {},
): Promise<{ server: OpenAIServer; llm: BaseChatModel }> {
  const server = await OpenAIServer.start(replies);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { server, llm: await defaultModel(options, server.environment) };
}

/** What the code printed, from the JSON that a model is shown. */
export function printedIn(shown: string | undefined): string | undefined {
  const json = /\{.*\}/s.exec(shown ?? '')?.[0];
  return json === undefined ? undefined : (JSON.parse(json) as { stdout: string }).stdout;
}

/** A reply that calls the tool which keeps nothing. */
export function code(...programs: readonly string[]): Reply {
  return calls('code_interpreter', programs);
}

/** A reply that calls the tool which keeps the variables. */
export function inSession(...programs: readonly string[]): Reply {
  return calls('run_python_code', programs);
}

function calls(name: string, programs: readonly string[]): Reply {
  return {
    calls: programs.map((program, index) => ({
      id: `call_${index}_${program.length}`,
      name,
      arguments: { code: program },
    })),
  };
}

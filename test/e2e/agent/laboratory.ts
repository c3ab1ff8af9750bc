/** What the tests of agents share: one interpreter, and agents whose model follows a script. */
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { defaultModel } from '../../../src/model/openai.ts';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { createInterpreter, type Interpreter } from '../../../src/session/interpreter.ts';
import { OpenAIServer, type Reply, type Script } from '../../support/openai-server.ts';
import { PythonTool } from '../../support/python-tool.ts';

/** A code tool on an interpreter that lives as long as the tests of the file. */
export function useInterpreter(): { readonly tool: PythonTool; readonly interpreter: Interpreter } {
  let interpreter: Interpreter;
  beforeAll(async () => (interpreter = await createInterpreter({ preload: [], poolSize: 1 })));
  afterAll(() => interpreter.close());
  return {
    get interpreter() {
      return interpreter;
    },
    get tool() {
      return new PythonTool(interpreter);
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

/** A reply that calls the code tool. */
export function code(...programs: readonly string[]): Reply {
  return {
    calls: programs.map((program, index) => ({
      id: `call_${index}_${program.length}`,
      name: 'code_interpreter',
      arguments: { code: program },
    })),
  };
}

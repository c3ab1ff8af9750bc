import type { DynamicStructuredTool } from '@langchain/core/tools';
import type { CallContext, Tool } from './tool.ts';

export interface LangChainOptions {
  /** Who calls. Unless it is given, each thread of LangGraph has an interpreter of its own. */
  readonly context?: CallContext;
}

/** A tool for `bindTools`, `ToolNode` and agents of LangChain. The model gets the text; the artifact is the payload. */
export async function toLangChainTool(tool: Tool, { context }: LangChainOptions = {}): Promise<DynamicStructuredTool> {
  const [{ DynamicStructuredTool: LangChainTool }, { ToolMessage }] = await Promise.all([
    import('@langchain/core/tools'),
    import('@langchain/core/messages'),
  ]);
  const { name, description, parameters } = await tool.define();
  return new LangChainTool({
    name,
    description,
    schema: { ...parameters, properties: { ...parameters.properties }, required: [...parameters.required] },
    responseFormat: 'content_and_artifact',
    func: async (args: Readonly<Record<string, unknown>>, _runManager, config) => {
      const observation = await tool.call(args, {
        ...(config?.signal && { signal: config.signal }),
        context: context ?? threadOf(config?.configurable),
      });
      config?.signal?.throwIfAborted();
      const { text: content, payload: artifact, isError } = observation;
      const id = callId(config);
      if (!isError || id === undefined) return [content, artifact];
      return [new ToolMessage({ content, artifact, tool_call_id: id, name, status: 'error' }), artifact];
    },
  });
}

function threadOf(configurable: Readonly<Record<string, unknown>> | undefined): CallContext {
  const thread = configurable?.['thread_id'];
  return typeof thread === 'string' && thread !== '' ? { chatId: thread } : {};
}

/** Of the call that the model made; absent when a program calls. */
function callId(config: unknown): string | undefined {
  if (typeof config !== 'object' || config === null || !('toolCall' in config)) return undefined;
  const { toolCall } = config;
  if (typeof toolCall !== 'object' || toolCall === null || !('id' in toolCall)) return undefined;
  return typeof toolCall.id === 'string' ? toolCall.id : undefined;
}

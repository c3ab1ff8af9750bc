/** A tool for LangChain and LangGraph. */
import type { DynamicStructuredTool } from '@langchain/core/tools';
import { loadOptional, NEEDED } from '../../packages.ts';
import { dataUriOf } from '../images.ts';
import type { CallContext, Observation, Tool } from '../tool.ts';

export interface LangChainOptions {
  /** Who calls. Without it, each LangGraph thread has its own interpreter. */
  readonly context?: CallContext;
  /** Puts pictures into the content as well. Only for models that take pictures in tool messages, such as Anthropic's. */
  readonly pictures?: boolean;
}

/** For `bindTools`, `ToolNode` and LangChain agents. The content is the text for the model, the artifact is the payload. */
export async function toLangChainTool(tool: Tool, options: LangChainOptions = {}): Promise<DynamicStructuredTool> {
  const { context, pictures: hasPictures = false } = options;
  const [{ DynamicStructuredTool: LangChainTool }, { ToolMessage }] = await loadLangChain();
  const { name, description, parameters } = await tool.define();
  return new LangChainTool({
    name,
    description,
    schema: structuredClone(parameters),
    responseFormat: 'content_and_artifact',
    func: async (args: Readonly<Record<string, unknown>>, _runManager, config) => {
      const observation = await tool.call(args, {
        ...(config?.signal && { signal: config.signal }),
        context: context ?? threadOf(config?.configurable),
      });
      config?.signal?.throwIfAborted();
      const { payload: artifact, isError } = observation;
      const content = hasPictures ? contentOf(observation) : observation.text;
      const id = callId(config);
      if (!isError || id === undefined) return [content, artifact];
      return [new ToolMessage({ content, artifact, tool_call_id: id, name, status: 'error' }), artifact];
    },
  });
}

function loadLangChain() {
  return loadOptional('toLangChainTool', NEEDED.langChain, () =>
    Promise.all([import('@langchain/core/tools'), import('@langchain/core/messages')]),
  );
}

/** In the form that the chat models of all providers translate. */
function contentOf({ text, images = [] }: Observation) {
  const pictures = images.map((image) => ({ type: 'image_url' as const, image_url: { url: dataUriOf(image) } }));
  return pictures.length === 0 ? text : [{ type: 'text' as const, text }, ...pictures];
}

function threadOf(configurable: Readonly<Record<string, unknown>> | undefined): CallContext {
  const thread = configurable?.['thread_id'];
  return typeof thread === 'string' && thread !== '' ? { chatId: thread } : {};
}

/** The id of the model's call; undefined when a program calls the tool. */
function callId(config: unknown): string | undefined {
  if (typeof config !== 'object' || config === null || !('toolCall' in config)) return undefined;
  const { toolCall } = config;
  if (typeof toolCall !== 'object' || toolCall === null || !('id' in toolCall)) return undefined;
  return typeof toolCall.id === 'string' ? toolCall.id : undefined;
}

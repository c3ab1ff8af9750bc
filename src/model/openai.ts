/** Models behind the chat completions protocol of OpenAI, which most servers speak. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { parseModelConfig, type ModelConfig, type ModelConfigInput } from '../config.ts';

/** A model that is connected to when it is first needed. */
export interface ModelSource {
  connect(): Promise<BaseChatModel>;
}

/** Any chat model of LangChain, or one that comes when it is needed. */
export type Llm = BaseChatModel | ModelSource;

/** The model that options and environment name; VIVARIUM_LLM_BASE_URL, _API_KEY and _MODEL, else those of OpenAI. */
export function defaultModel(options: ModelConfigInput = {}, environment?: NodeJS.ProcessEnv): Promise<BaseChatModel> {
  return new OpenAILLM(options, environment).connect();
}

/** A model of OpenAI, or of whatever server the environment names. */
export class OpenAILLM implements ModelSource {
  readonly #config: ModelConfig;
  #model: Promise<BaseChatModel> | undefined;

  /** Fails at once when nothing says where the model is. */
  constructor(options: ModelConfigInput = {}, environment?: NodeJS.ProcessEnv) {
    this.#config = parseModelConfig(options, environment);
  }

  connect(): Promise<BaseChatModel> {
    return (this.#model ??= load(this.#config));
  }
}

export function connect(llm: Llm): Promise<BaseChatModel> {
  return 'connect' in llm ? llm.connect() : Promise.resolve(llm);
}

/** Loaded late: the package takes half a second. */
async function load({
  model,
  baseUrl,
  apiKey,
  temperature,
  maxTokens,
  maxRetries,
}: ModelConfig): Promise<BaseChatModel> {
  const { ChatOpenAI } = await import('@langchain/openai');
  return new ChatOpenAI({
    model,
    apiKey: apiKey ?? 'none', // servers of one's own want none, and the client insists on one
    streamUsage: true,
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxTokens }),
    // The retries of LangChain heed neither `retry-after` nor a limit without it; those of the client below it do.
    maxRetries: 0,
    configuration: { baseURL: baseUrl, maxRetries },
  });
}

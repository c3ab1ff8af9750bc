/** Models behind OpenAI's chat completions protocol, which most servers support. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { parseModelConfig, type ModelConfig, type ModelConfigInput } from '../config.ts';
import { Once } from '../once.ts';
import { loadOptional, NEEDED } from '../packages.ts';

/** A model that is loaded on first use. */
export interface ModelSource {
  connect(): Promise<BaseChatModel>;
}

/** Any LangChain chat model, or one that is loaded on first use. */
export type Llm = BaseChatModel | ModelSource;

/** The model named by the options or the environment: VIVARIUM_LLM_BASE_URL, _API_KEY and _MODEL, else OpenAI's variables. */
export function defaultModel(options: ModelConfigInput = {}, environment?: NodeJS.ProcessEnv): Promise<BaseChatModel> {
  return new OpenAILLM(options, environment).connect();
}

/** A model of OpenAI, or of the server that the environment names. */
export class OpenAILLM implements ModelSource {
  readonly #model: Once<BaseChatModel>;

  /** Throws if neither options nor environment name a model. */
  constructor(options: ModelConfigInput = {}, environment?: NodeJS.ProcessEnv) {
    const config = parseModelConfig(options, environment);
    this.#model = new Once(() => load(config));
  }

  connect(): Promise<BaseChatModel> {
    return this.#model.get();
  }
}

export function connect(llm: Llm): Promise<BaseChatModel> {
  return 'connect' in llm ? llm.connect() : Promise.resolve(llm);
}

/** Imported on demand: loading the package takes half a second. */
async function load({
  model,
  baseUrl,
  apiKey,
  temperature,
  maxTokens,
  maxRetries,
}: ModelConfig): Promise<BaseChatModel> {
  const { ChatOpenAI } = await loadOptional('A model of OpenAI', NEEDED.openai, () => import('@langchain/openai'));
  return new ChatOpenAI({
    model,
    apiKey: apiKey ?? 'none', // the client requires a key, even for servers that need none
    streamUsage: true,
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxTokens }),
    // LangChain's retries ignore `retry-after`; those of the OpenAI client respect it.
    maxRetries: 0,
    configuration: { baseURL: baseUrl, maxRetries },
  });
}

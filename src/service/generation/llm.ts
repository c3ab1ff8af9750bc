import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { HumanMessage, SystemMessage, type AIMessageChunk } from '@langchain/core/messages';
import { extractCode } from '../../text/code/extract-code.ts';
import { CodeGenerationError, ModelUnavailableError } from '../api/failures.ts';
import type { PythonExecutionRequest } from '../api/request.ts';
import { summarizeFailure, type CodeGenerator, type ExecutionFailure, type GenerateOptions } from './generator.ts';
import { buildPrompt, type Prompt } from './prompt.ts';

/** Far more than a program for one task needs. Longer answers are cut off. */
const MAX_ANSWER_CHARS = 400_000;
/** The finish reasons that servers use for an answer that reached its limit. */
const CUT_OFF = new Set<unknown>(['length', 'max_tokens', 'MAX_TOKENS', 'max_output_tokens']);

/** Generates code with a chat model. */
export class LlmGenerator implements CodeGenerator {
  readonly #model: BaseChatModel;

  constructor(model: BaseChatModel) {
    this.#model = model;
  }

  async generateCode(
    request: PythonExecutionRequest,
    errorChain: readonly ExecutionFailure[],
    options: GenerateOptions = {},
  ): Promise<string> {
    const prompt = buildPrompt(request, errorChain, options.sandbox);
    const { text, isCutOff } = await this.#ask(prompt, options);
    if (isCutOff) {
      throw failed(
        'the answer of the model reached its length limit and is incomplete. Write shorter code',
        errorChain,
      );
    }
    const code = extractCode(withoutThoughts(text));
    if (!hasCode(code)) throw failed('the model answered with no code. Answer with the code alone', errorChain);
    return code;
  }

  async #ask({ system, user }: Prompt, { signal, onToken }: GenerateOptions): Promise<ModelAnswer> {
    signal?.throwIfAborted();
    try {
      const messages = [new SystemMessage(system), new HumanMessage(user)];
      return await collect(await this.#model.stream(messages, signal && { signal }), onToken);
    } catch (error) {
      signal?.throwIfAborted(); // clients report an abort in different ways
      throw new ModelUnavailableError(
        `The model that writes the code could not be asked: ${reasonOf(error)}. Check that its server runs and that model and key are correct.`,
        { cause: error },
      );
    }
  }
}

interface ModelAnswer {
  readonly text: string;
  readonly isCutOff: boolean;
}

async function collect(
  chunks: AsyncIterable<AIMessageChunk>,
  onToken: GenerateOptions['onToken'],
): Promise<ModelAnswer> {
  let text = '';
  let isCutOff = false;
  for await (const chunk of chunks) {
    text += chunk.text;
    if (chunk.text !== '') onToken?.(chunk.text);
    const { finish_reason: finish, stop_reason: stop } = chunk.response_metadata;
    isCutOff ||= CUT_OFF.has(finish) || CUT_OFF.has(stop) || text.length > MAX_ANSWER_CHARS;
    if (text.length > MAX_ANSWER_CHARS) break;
  }
  return { text, isCutOff };
}

/** Empty fences do not count as code. */
function hasCode(text: string): boolean {
  return text.replaceAll(/^\s*(?:`{3,}|~{3,})\w*\s*$/gm, '').trim() !== '';
}

/** Removes the reasoning that some models write before their answer. */
function withoutThoughts(text: string): string {
  return text.replace(/^\s*<(think|thinking)>[^]*?<\/\1>\s*/, '');
}

function failed(what: string, errorChain: readonly ExecutionFailure[]): CodeGenerationError {
  return new CodeGenerationError(`No code was generated: ${what}.`, {
    generationAttempt: (errorChain.at(-1)?.attemptNumber ?? 0) + 1,
    errorChain: errorChain.map(summarizeFailure),
  });
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]?.slice(0, 300) ?? '';
}

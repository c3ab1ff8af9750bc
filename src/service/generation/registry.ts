import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { ServiceConfigurationError } from '../api/failures.ts';
import type { CodeGenerator } from './generator.ts';
import { LlmGenerator } from './llm.ts';
import { MockGenerator } from './mock.ts';

/** The settings in `execution.generators.<name>` of the configuration. */
export type GeneratorSettings = Readonly<Record<string, unknown>>;
export type GeneratorFactory = (settings: GeneratorSettings) => CodeGenerator | Promise<CodeGenerator>;

export interface GeneratorRegistryOptions {
  /** Returns the model for `llm`. Called only when such a generator is created. */
  readonly resolveModel: (settings: GeneratorSettings) => BaseChatModel | Promise<BaseChatModel>;
}

/** The generators of one service, by name. `llm` (also called `basic`) and `mock` are built in. */
export class GeneratorRegistry {
  readonly #factories = new Map<string, GeneratorFactory>();
  readonly #kept = new Map<string, Promise<CodeGenerator>>();

  constructor({ resolveModel }: GeneratorRegistryOptions) {
    const llm: GeneratorFactory = async (settings) => new LlmGenerator(await resolveModel(settings));
    this.registerGenerator('llm', llm);
    this.registerGenerator('basic', llm);
    this.registerGenerator('mock', (settings) => new MockGenerator(settings));
  }

  get names(): readonly string[] {
    return [...this.#factories.keys()];
  }

  /** Registering a name again replaces its factory. */
  registerGenerator(name: string, factory: GeneratorFactory): void {
    if (name.trim() === '')
      throw new ServiceConfigurationError(
        'A code generator must have a name. Register it under a name that is not empty.',
      );
    this.#factories.set(name, factory);
    this.#kept.delete(name);
  }

  /** Returns the same generator for all requests, because it may hold a connection or other state. */
  generator(name: string, settings?: GeneratorSettings): Promise<CodeGenerator> {
    const kept = this.#kept.get(name) ?? this.makeGenerator(name, settings);
    this.#kept.set(name, kept);
    kept.catch(() => this.#kept.delete(name)); // the next call tries again
    return kept;
  }

  async makeGenerator(name: string, settings: GeneratorSettings = {}): Promise<CodeGenerator> {
    const factory = this.#factories.get(name);
    if (factory !== undefined) return factory(settings);
    throw new ServiceConfigurationError(
      `There is no code generator ${JSON.stringify(name)}: execution.code_generator can be ${this.names.join(', ')}. Choose one of these, or register a generator of that name.`,
      { technicalDetails: { name, known: this.names } },
    );
  }
}

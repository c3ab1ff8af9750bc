import { ServiceConfigurationError } from '../api/failures.ts';

/** The names of registered context types, by name: `context_types.ANALYSIS_RESULTS`. Reading any other is an error. */
export type ContextTypes<Names extends string = string> = Readonly<Record<Names, string>>;

/** Looks like the name of a type, unlike `toJSON` and other names that Node itself reads. */
const TYPE_NAME = /^[A-Z][A-Z0-9_]*$/u;

/** Context types that capabilities of this process store. */
export class ContextTypeList {
  readonly types: ContextTypes;
  readonly #names: Record<string, string> = {};

  constructor() {
    this.types = new Proxy(this.#names, {
      get: (names, key) => (typeof key === 'symbol' ? undefined : find(names, key)),
    });
  }

  add(name: string): void {
    if (!TYPE_NAME.test(name)) {
      throw new ServiceConfigurationError(
        `"${name}" cannot name a context type. Use upper-case letters, digits and "_", such as ANALYSIS_RESULTS.`,
      );
    }
    this.#names[name] = name;
  }
}

function find(names: Readonly<Record<string, string>>, name: string): string | undefined {
  if (Object.hasOwn(names, name) || !TYPE_NAME.test(name)) return names[name];
  const known = Object.keys(names).join(', ') || 'none';
  throw new ServiceConfigurationError(
    `The context type ${name} is not registered (registered: ${known}). Call get_registry().register_context_type("${name}") when the program starts.`,
  );
}

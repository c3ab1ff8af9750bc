import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import { ConfigDocument, type ConfigProblem } from './document.ts';
import { withoutForeign, withoutEmptyKeys } from './foreign-keys.ts';
import { keysOf, namesIn } from './schema.ts';
import { problemsOf } from './problems.ts';
import { ConfigurationSchema, EXECUTION_METHODS, type Configuration } from './schema.ts';

const MAX_BYTES = 1 << 20;

export type ConfigurationSource = ({ readonly path: string } | { readonly text: string }) & {
  /** The variables for `${NAME}` in values. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called for keys that are accepted but have no effect. By default they are Node warnings. */
  readonly onWarning?: ((text: string) => void) | undefined;
};

/** Reads `config.yml`. Throws one error that lists all problems, or returns a complete, frozen configuration. */
export async function loadConfiguration(source: ConfigurationSource): Promise<Configuration> {
  if ('text' in source) return parseConfiguration(source.text, 'config.yml', source);
  const text = await readFile(source.path, 'utf8').catch((error: unknown) => {
    throw new VivariumError(
      'CONFIG_INVALID',
      `The configuration ${source.path} cannot be read. Check the path and its permissions.`,
      { cause: error },
    );
  });
  return parseConfiguration(text, path.basename(source.path), source);
}

/** The configuration of one request: the file, overridden by `configurable`. Other keys of `configurable` are ignored. */
export function withOverrides(
  configuration: Configuration,
  configurable: Readonly<Record<string, unknown>>,
): Configuration {
  const given = configurable['execution_method'];
  const { execution } = configuration.framework;
  if (given === undefined || given === execution.execution_method) return configuration;
  const method = EXECUTION_METHODS.find((known) => known === given);
  if (method === undefined) {
    const shown = typeof given === 'string' ? JSON.stringify(given.slice(0, 50)) : typeof given;
    throw new VivariumError(
      'CONFIG_INVALID',
      `configurable.execution_method is ${shown}. Use ${EXECUTION_METHODS.map((known) => `"${known}"`).join(' or ')}, or omit it to use framework.execution.execution_method.`,
    );
  }
  const framework = { ...configuration.framework, execution: { ...execution, execution_method: method } };
  return deepFreeze({ ...configuration, framework });
}

function parseConfiguration(
  text: string,
  name: string,
  { environment, onWarning = warn }: Pick<ConfigurationSource, 'environment' | 'onWarning'>,
): Configuration {
  if (text.length > MAX_BYTES) throw invalid(name, [{ text: `it is longer than ${MAX_BYTES} characters` }]);
  const document = new ConfigDocument(text, environment);
  if (document.problems.length > 0) throw invalid(name, document.problems);
  const content = withoutForeign(withoutEmptyKeys(readContent(document, name)), (key, note) =>
    onWarning(`line ${document.lineOf(key.split('.')) ?? '?'} of ${name}: ${key}: ${note}.`),
  );
  const parsed = ConfigurationSchema.safeParse(content);
  const again = parsed.success ? parsed : ConfigurationSchema.safeParse(convertText(content, parsed.error, document));
  if (again.success) return deepFreeze(again.data);
  throw invalid(name, problemsOf(again.error, document, namesIn(keysOf(ConfigurationSchema))));
}

function warn(text: string): void {
  process.emitWarning(text, { type: 'VivariumWarning', code: 'CONFIG_FOREIGN' });
}

function readContent(document: ConfigDocument, name: string): unknown {
  try {
    return document.content() ?? {};
  } catch (error) {
    throw invalid(name, [{ text: error instanceof Error ? error.message : 'its aliases cannot be resolved' }]);
  }
}

/** Environment variables are always text, so text is converted where the schema wants a number or a boolean. */
function convertText(content: unknown, error: Parameters<typeof problemsOf>[0], document: ConfigDocument): unknown {
  const converted = structuredClone(content);
  for (const issue of error.issues) {
    if (issue.code !== 'invalid_type' || !document.interpolated.has(issue.path.map(String).join('.'))) continue;
    const last = issue.path.at(-1);
    const section = issue.path
      .slice(0, -1)
      .reduce<unknown>((part, step) => (part as Record<PropertyKey, unknown>)[step], converted);
    if (last !== undefined) convertIn(section as Record<PropertyKey, unknown>, last);
  }
  return converted;
}

function convertIn(section: Record<PropertyKey, unknown>, key: PropertyKey): void {
  const text = String(section[key]).trim();
  if (/^-?\d+(\.\d+)?$/u.test(text)) section[key] = Number(text);
  else if (text === 'true' || text === 'false') section[key] = text === 'true';
}

function invalid(name: string, problems: readonly ConfigProblem[]): VivariumError {
  const lines = problems.map(({ line, key, text }) =>
    [line === undefined ? '' : `line ${line}: `, key === undefined || key === '' ? '' : `${key}: `, text].join(''),
  );
  return new VivariumError(
    'CONFIG_INVALID',
    `The configuration ${name} is not valid:\n${lines.map((line) => `  ${line}`).join('\n')}\nCorrect the file. docs/service-config.md lists every key.`,
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import { ConfigDocument, type ConfigProblem, type UnsetVariable } from './document.ts';
import { withoutForeign, withoutEmptyKeys } from './foreign-keys.ts';
import { keysOf, namesIn } from './schema.ts';
import { problemsOf } from './problems.ts';
import { ConfigurationSchema, EXECUTION_METHODS, EXECUTION_MODES } from './schema.ts';
import type { Configuration, ExecutionMethod } from './schema.ts';

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
  const missing = (configuration.unsetVariables ?? []).filter(({ key }) => isUsedBy(method, key));
  if (missing.length > 0) {
    throw new VivariumError(
      'CONFIG_INVALID',
      `The execution method "${method}" cannot be used: ${missing.map((one) => `${one.key}: ${describeUnset(one)}`).join('; ')}.`,
    );
  }
  const unenforceable = listsWithout(method, execution.modes);
  if (unenforceable.length > 0) {
    throw new VivariumError(
      'CONFIG_INVALID',
      `The execution method "${method}" cannot be used: ${unenforceable.map(({ key, text }) => `${key}: ${text}`).join('; ')}.`,
    );
  }
  const framework = { ...configuration.framework, execution: { ...execution, execution_method: method } };
  return deepFreeze({ ...configuration, framework });
}

/** The lists of hosts that a method cannot enforce. They are refused, not weakened. */
function listsWithout(
  method: ExecutionMethod,
  modes: Configuration['framework']['execution']['modes'],
): { readonly key: string; readonly text: string }[] {
  const listed = EXECUTION_MODES.filter((mode) => method !== 'local' && typeof modes[mode].network === 'object');
  return listed.map((mode) => ({
    key: `framework.execution.modes.${mode}.network`,
    text: 'only the execution method "local" can hold code to a list of hosts: use that method, or write true or false here',
  }));
}

/** The section of a method is used by that method alone. Everything else always is. */
function isUsedBy(method: ExecutionMethod, key: string): boolean {
  return EXECUTION_METHODS.every((other) => other === method || !key.startsWith(`framework.execution.${other}.`));
}

function describeUnset({ variable }: UnsetVariable): string {
  return `the environment variable ${variable} is not set: set it, or write \${${variable}:-default}`;
}

function parseConfiguration(
  text: string,
  name: string,
  { environment, onWarning = warn }: Pick<ConfigurationSource, 'environment' | 'onWarning'>,
): Configuration {
  if (text.length > MAX_BYTES) throw invalid(name, [{ text: `it is longer than ${MAX_BYTES} characters` }]);
  const document = new ConfigDocument(text, environment);
  const unset = document.unset.map((one) => ({ line: one.line, key: one.key, text: describeUnset(one) }));
  if (document.problems.length > 0) throw invalid(name, [...document.problems, ...unset]);
  const content = withoutForeign(withoutEmptyKeys(readContent(document, name)), (key, note) =>
    onWarning(`line ${document.lineOf(key.split('.')) ?? '?'} of ${name}: ${key}: ${note}.`),
  );
  const parsed = ConfigurationSchema.safeParse(content);
  const again = parsed.success ? parsed : ConfigurationSchema.safeParse(convertText(content, parsed.error, document));
  if (!again.success) {
    throw invalid(name, [...unset, ...problemsOf(again.error, document, namesIn(keysOf(ConfigurationSchema)))]);
  }
  const { execution_method: method } = again.data.framework.execution;
  const missing = unset.filter(({ key }) => isUsedBy(method, key));
  const unenforceable = listsWithout(method, again.data.framework.execution.modes).map(({ key, text: problem }) => ({
    line: document.lineOf(key.split('.')),
    key,
    text: problem,
  }));
  if (missing.length + unenforceable.length > 0) throw invalid(name, [...missing, ...unenforceable]);
  return deepFreeze({
    ...withServerToken(again.data, environment['JUPYTER_TOKEN']),
    ...(unset.length > 0 && { unsetVariables: document.unset }),
  });
}

/** A Jupyter server takes its token from the variable JUPYTER_TOKEN, so a client with the same variable has it too. */
function withServerToken(configuration: Configuration, token: string | undefined): Configuration {
  const { framework } = configuration;
  const { container } = framework.execution;
  if (!token || container.jupyter_token !== undefined) return configuration;
  const execution = { ...framework.execution, container: { ...container, jupyter_token: token } };
  return { ...configuration, framework: { ...framework, execution } };
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
    const isOfWrongType = issue.code === 'invalid_type' || issue.code === 'invalid_union';
    if (!isOfWrongType || !document.interpolated.has(issue.path.map(String).join('.'))) continue;
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

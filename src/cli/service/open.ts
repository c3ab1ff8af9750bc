/** Opens the execution service with the settings of flags, configuration file and environment. */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { parseConfig, parseModelConfig } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import { loadConfiguration } from '../../service/config/load.ts';
import type { Configuration } from '../../service/config/schema.ts';
import type { PythonExecutorService } from '../../service/service.ts';
import { storageAddress } from '../../service/config/addresses.ts';
import { openStorage, type Storage } from '../../storage/storage.ts';
import type { Context } from '../terminal/context.ts';
import { configOf, type MachineFlags } from '../session/flags.ts';
import { serverOf } from '../session/host.ts';

export interface ServiceFlags extends MachineFlags {
  readonly config?: string;
  readonly model?: string;
  readonly baseUrl?: string;
  readonly timeoutMs?: number;
}

/** The settings that the service starts with. */
export interface ServiceSetup {
  readonly configuration: Configuration;
  /** Undefined if there is none and the defaults apply. */
  readonly configFile: string | undefined;
  readonly dataDir: string;
  /** The directory that paths in the configuration are relative to. */
  readonly baseDir: string;
  /** The options that lead another command to the same records. */
  readonly sameAgain: string;
}

const DEFAULT_FILE = 'config.yml';
/** All code needs approval and runs in sessions of this machine. */
const BUILT_IN = 'approval: {}\n';
const MAX_TIMEOUT_MS = 24 * 3_600_000;

/**
 * Reads the configuration. Its paths are relative to the file, or to the data directory if there is no file: an approval
 * can be decided from another directory and must find the same records.
 */
export async function configure(flags: ServiceFlags, { environment, stderr }: Context): Promise<ServiceSetup> {
  const { dataDir } = parseConfig(configOf(machineFlags(flags), environment), environment);
  const named = flags.config ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined);
  const configFile = named === undefined ? undefined : path.resolve(named);
  const warnings: string[] = [];
  const loaded = await loadConfiguration({
    ...(configFile === undefined ? { text: BUILT_IN } : { path: configFile }),
    environment,
    onWarning: (text) => warnings.push(text),
  });
  for (const warning of warnings) await stderr.line(`note: ${warning}`);
  return {
    configuration: withFlags(loaded, flags),
    configFile,
    dataDir,
    baseDir: configFile === undefined ? dataDir : path.dirname(configFile),
    sameAgain: [
      ...(configFile === undefined ? [] : ['--config', quoted(configFile)]),
      ...(flags.dataDir === undefined ? [] : ['--data-dir', quoted(path.resolve(flags.dataDir))]),
    ].join(' '),
  };
}

/** Opens only the database, for commands that run nothing. */
export function openRecordsOf(setup: ServiceSetup): Promise<Storage> {
  return openStorage(storageAddress(setup.configuration, setup));
}

export async function openService(
  setup: ServiceSetup,
  flags: ServiceFlags,
  { environment }: Context,
): Promise<PythonExecutorService> {
  const { startPythonExecutor } = await import('../../service/start.ts');
  const { limits: _, dataDir: __, ...hostSettings } = configOf(machineFlags(flags), environment);
  const { configuration, dataDir, baseDir } = setup;
  const settings = serverOf(flags, environment) ?? hostSettings;
  return startPythonExecutor({ config: configuration, dataDir, baseDir, environment, hostSettings: settings });
}

/** Fails early if a model has to write the code and none is configured. */
export function assertModel({ configuration }: ServiceSetup, { environment }: Context): void {
  if (!['llm', 'basic'].includes(configuration.framework.execution.code_generator)) return;
  const { model_id: model, base_url: baseUrl, api_key: apiKey } = configuration.models.python_code_generator;
  parseModelConfig({ ...(model && { model }), ...(baseUrl && { baseUrl }), ...(apiKey && { apiKey }) }, environment);
}

/** The user's name. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`; // in a container the user may have no name
  }
}

function machineFlags({ dataDir, python, environment, isolation }: ServiceFlags): MachineFlags {
  return {
    ...(dataDir && { dataDir }),
    ...(python && { python }),
    ...(environment && { environment }),
    ...(isolation && { isolation }),
  };
}

/** Flags override the file. */
function withFlags(configuration: Configuration, flags: ServiceFlags): Configuration {
  const { framework, models } = configuration;
  const seconds = secondsOf(flags) ?? framework.python_executor.execution_timeout_seconds;
  return {
    ...configuration,
    framework: {
      ...framework,
      python_executor: { ...framework.python_executor, execution_timeout_seconds: seconds },
    },
    models: { ...models, python_code_generator: modelOf(models.python_code_generator, flags) },
  };
}

type ModelSettings = Configuration['models']['python_code_generator'];

/** A key is sent only to the server that it was configured for. */
function modelOf(settings: ModelSettings, { model, baseUrl }: ServiceFlags): ModelSettings {
  const { api_key: key, ...open } = settings;
  const isSameServer = baseUrl === undefined || URL.parse(baseUrl)?.origin === URL.parse(open.base_url ?? '')?.origin;
  return {
    ...open,
    ...(isSameServer && key !== undefined && { api_key: key }),
    ...(model !== undefined && { model_id: model }),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
  };
}

function secondsOf({ timeoutMs }: ServiceFlags): number | undefined {
  if (timeoutMs === undefined) return undefined;
  if (timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs / 1000;
  throw new VivariumError('USAGE', `--timeout-ms ${timeoutMs} is out of range. Use 1 to ${MAX_TIMEOUT_MS}.`);
}

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Opens the execution service as flags, configuration and environment say. */
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
import type { Context } from '../context.ts';
import { configOf, type MachineFlags } from '../options.ts';

export interface ServiceFlags extends MachineFlags {
  readonly config?: string;
  readonly model?: string;
  readonly baseUrl?: string;
  readonly timeoutMs?: number;
}

/** What the service is started with. */
export interface Setup {
  readonly configuration: Configuration;
  /** Undefined: there is none, and the defaults hold. */
  readonly configFile: string | undefined;
  readonly dataDir: string;
  /** Where paths of the configuration begin. */
  readonly baseDir: string;
  /** What another command line must say to come to the same place. */
  readonly sameAgain: string;
}

const DEFAULT_FILE = 'config.yml';
/** Says nothing but that approvals are wanted: all code is asked about, and runs in sessions of this machine. */
const BUILT_IN = 'approval: {}\n';
const MAX_TIMEOUT_MS = 24 * 3_600_000;

/**
 * Reads the configuration, once. Paths in a file begin where it lies, and without one in the data directory: approvals must
 * find the records again, from whatever directory they are decided in.
 */
export async function configure(flags: ServiceFlags, { environment, stderr }: Context): Promise<Setup> {
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

/** The database alone, for those who only look. */
export function openRecordsOf(setup: Setup): Promise<Storage> {
  return openStorage(storageAddress(setup.configuration, setup));
}

export async function openService(
  setup: Setup,
  flags: ServiceFlags,
  { environment }: Context,
): Promise<PythonExecutorService> {
  const { startPythonExecutor } = await import('../../service/start.ts');
  const { limits: _, dataDir: __, ...hostSettings } = configOf(machineFlags(flags), environment);
  const { configuration, dataDir, baseDir } = setup;
  return startPythonExecutor({ config: configuration, dataDir, baseDir, environment, hostSettings });
}

/** Fails at once when code is to be written and nothing says which model writes it. */
export function assertModel({ configuration }: Setup, { environment }: Context): void {
  if (!['llm', 'basic'].includes(configuration.framework.execution.code_generator)) return;
  const { model_id: model, base_url: baseUrl, api_key: apiKey } = configuration.models.python_code_generator;
  parseModelConfig({ ...(model && { model }), ...(baseUrl && { baseUrl }), ...(apiKey && { apiKey }) }, environment);
}

/** Who sits here, as the system knows them. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`; // containers run under users that have no name
  }
}

function machineFlags({ dataDir, python, isolation }: ServiceFlags): MachineFlags {
  return { ...(dataDir && { dataDir }), ...(python && { python }), ...(isolation && { isolation }) };
}

/** Flags win over the file. */
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

/** A key goes to the server that it was written down for, and to no other. */
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

/** As a shell takes it for one word. */
function quoted(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

import path from 'node:path';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { defaultDataDir } from '../data-dir.ts';
import type { Host } from '../host/host.ts';
import { defaultModel } from '../model/openai.ts';
import { openStorage, type Storage } from '../storage/storage.ts';
import { Examiner } from './analysis/examine.ts';
import { loadConfiguration, type ConfigurationSource } from './config/load.ts';
import type { Configuration, ExecutionMethod } from './config/schema.ts';
import { endpointOf, storageAddress } from './config/addresses.ts';
import { Executors, type HostSettings } from './execution/executors.ts';
import { GeneratorRegistry, type GeneratorFactory } from './generation/registry.ts';
import { buildGraph } from './graph/graph.ts';
import { analyze } from './graph/analyze.ts';
import { approve } from './graph/approve.ts';
import { execute } from './graph/execute.ts';
import { generate } from './graph/generate.ts';
import type { Dependencies } from './graph/dependencies.ts';
import { CodeAnalyzer } from './policy/code-analyzer.ts';
import { Records } from './records/records.ts';
import { FILE_LINKS, JupyterLabLinks } from './records/notebook-links.ts';
import { PythonExecutorService } from './service.ts';

/** The options of `startPythonExecutor`. */
export interface PythonExecutorOptions {
  /** A configuration, or where to load it from. */
  readonly config: Configuration | ConfigurationSource;
  /** Holds environments, records and the database. Default: `$VIVARIUM_HOME`, or in the user's data directory. */
  readonly dataDir?: string;
  /** Variables that the configuration may use; by default those of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** What relative paths in the configuration are relative to. By default the current directory. */
  readonly baseDir?: string;
  /** The model that writes code, instead of the one from configuration and environment. */
  readonly model?: BaseChatModel;
  /** Additional generators by name. */
  readonly generators?: Readonly<Record<string, GeneratorFactory>>;
  /** Settings of the host that runs the code, or the server that does. They take precedence over the configuration. */
  readonly hostSettings?: HostSettings;
  /** An existing host to use. The service does not close it. */
  readonly host?: Host;
  /** An existing storage to use. The service does not close it. */
  readonly storage?: Storage;
}

/** Starts the execution service. */
export async function startPythonExecutor(options: PythonExecutorOptions): Promise<PythonExecutorService> {
  await using stack = new AsyncDisposableStack();
  const configuration = 'framework' in options.config ? options.config : await loadConfiguration(options.config);
  const dataDir = options.dataDir ?? defaultDataDir(options.environment ?? process.env);
  const baseDir = options.baseDir ?? process.cwd();
  const storage = options.storage ?? stack.use(await openStorage(storageAddress(configuration, { dataDir, baseDir })));
  const executors = stack.use(
    new Executors(configuration, { dataDir, baseDir, settings: options.hostSettings ?? {}, shared: options.host }),
  );
  const analyzer = new CodeAnalyzer(
    new Examiner({ runOnce: async (...run) => (await executors.local()).runOnce(...run) }),
  );
  const records = makeRecords(configuration, baseDir, executors);
  const generators = makeGenerators(configuration, options);
  const dependencies: Dependencies = {
    configuration,
    storage,
    analyzer,
    generator: () => {
      const { code_generator: name, generators: settings } = configuration.framework.execution;
      return generators.generator(name, settings[name]);
    },
    sandbox: (method) => executors.sandbox(method),
    access: (method, mode) => executors.access(method, mode),
    executor: (method, mode) => executors.executor(method, mode),
    record: (state) => records(state.method).open(state.folder, state.request),
  };
  const graph = buildGraph(
    {
      generate: (state, config) => generate(dependencies, state, config),
      analyze: (state, config) => analyze(dependencies, state, config),
      approve: (state, config) => approve(dependencies, state, config),
      execute: (state, config) => execute(dependencies, state, config),
    },
    storage.checkpointer,
  );
  const owned = stack.move();
  return new PythonExecutorService({ configuration, storage, graph, records, analyzer, generators, owned });
}

function makeGenerators(
  configuration: Configuration,
  { model, environment, generators = {} }: PythonExecutorOptions,
): GeneratorRegistry {
  const registry = new GeneratorRegistry({
    resolveModel: () => model ?? configuredModel(configuration, environment),
  });
  for (const [name, factory] of Object.entries(generators)) registry.registerGenerator(name, factory);
  return registry;
}

/** The model of `models.python_code_generator`. The environment supplies what is not configured. */
function configuredModel(
  { models }: Configuration,
  environment: NodeJS.ProcessEnv | undefined,
): Promise<BaseChatModel> {
  const { model_id: model, base_url: baseUrl, api_key: apiKey, temperature, max_tokens } = models.python_code_generator;
  const given = { model, baseUrl, apiKey, temperature, maxTokens: max_tokens };
  return defaultModel(
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    environment,
  );
}

type RecordsOf = (method: ExecutionMethod) => Records;

function makeRecords(configuration: Configuration, baseDir: string, executors: Executors): RecordsOf {
  const { agent_data_dir: directory, executed_python_scripts_dir: scriptsDir } = configuration.file_paths;
  const { url, token } = endpointOf(configuration, 'read_only');
  const lab = new JupyterLabLinks({ url, token }, scriptsDir);
  return (method) =>
    new Records({
      agentDataDir: path.resolve(baseDir, directory),
      scriptsDir,
      links: method === 'local' ? FILE_LINKS : lab,
      pythonVersion: '3',
      openArtifact: (id) => executors.openArtifact(method, id),
    });
}

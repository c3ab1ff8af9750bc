import path from 'node:path';
import type { Host } from '../../host/host.ts';
import { Once } from '../../once.ts';
import { loadOptional, NEEDED } from '../../packages.ts';
import type { PythonExecutorService } from '../../service/service.ts';
import type { Admission } from '../access/admission.ts';

/** All code needs approval and runs in sessions of the server. */
const BUILT_IN = 'approval: {}\n';

export interface ServicesOptions {
  readonly host: Host;
  readonly admission: Admission;
  readonly dataDir: string;
  /** The configuration file of the service; undefined: all code needs an approval. */
  readonly configFile: string | undefined;
}

/**
 * The execution service, for each client on its own part of the host. It is started when it is first used, because it
 * needs packages that are optional.
 */
export class Services implements AsyncDisposable {
  readonly #options: ServicesOptions;
  readonly #byClient = new Map<string | null, Once<PythonExecutorService>>();

  constructor(options: ServicesOptions) {
    this.#options = options;
  }

  /** The service whose code runs in sessions of a client; null for the owner of the server. */
  of(clientId: string | null): Promise<PythonExecutorService> {
    const service = this.#byClient.get(clientId) ?? new Once(() => this.#start(clientId));
    this.#byClient.set(clientId, service);
    return service.get();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const started = await Promise.all([...this.#byClient.values()].map((service) => service.settled()));
    for (const service of started) await service?.close();
  }

  /** What its configuration allows is up to the owner of the server, so the ceiling of the client does not count. */
  async #start(clientId: string | null): Promise<PythonExecutorService> {
    const { host, admission, dataDir, configFile } = this.#options;
    const { startPythonExecutor } = await loadOptional('Tasks', NEEDED.service, () => import('../../service/start.ts'));
    const name = clientId ?? 'local';
    const client = { id: clientId, keyId: clientId, name, isAdmin: false, ceiling: null, quotas: null };
    return startPythonExecutor({
      config: { ...(configFile === undefined ? { text: BUILT_IN } : { path: configFile }), environment: process.env },
      baseDir: configFile === undefined ? dataDir : path.dirname(configFile),
      dataDir,
      host: admission.hostOf(host, client),
    });
  }
}

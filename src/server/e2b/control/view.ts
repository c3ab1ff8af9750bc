/** Sandboxes as the control plane of E2B tells them. */
import { availableParallelism } from 'node:os';
import type { Host } from '../../../host/host.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { RunningSandbox } from '../sandbox/sandboxes.ts';

/** Which calls the SDKs make depends on it. From 0.6.2 on they send metadata of files, which there is no place for. */
const ENVD_VERSION = '0.6.1';

/** For those who have created a sandbox or connect to it: with its tokens. */
export function toConnection({ sandbox }: RunningSandbox): object {
  const { id, settings, tokens } = sandbox;
  return {
    sandboxID: id,
    templateID: settings.templateId,
    clientID: '',
    envdVersion: ENVD_VERSION,
    envdAccessToken: tokens.envd,
    trafficAccessToken: tokens.traffic,
    domain: null,
  };
}

export function toListed({ sandbox, endsAt }: RunningSandbox, host: Host): object {
  const { id, settings, startedAt } = sandbox;
  return {
    sandboxID: id,
    templateID: settings.templateId,
    clientID: '',
    startedAt: startedAt.toISOString(),
    endAt: endsAt.toISOString(),
    state: 'running',
    metadata: settings.metadata,
    envdVersion: ENVD_VERSION,
    cpuCount: cpuCountOf(host),
    memoryMB: host.limits.memoryMb,
    diskSizeMB: host.limits.workspaceMb,
  };
}

export function toDetail(running: RunningSandbox, host: Host): object {
  const { settings, tokens } = running.sandbox;
  return {
    ...toListed(running, host),
    envdAccessToken: tokens.envd,
    allowInternetAccess: (settings.session.network ?? host.access.network) !== false,
    domain: null,
    lifecycle: { onTimeout: 'kill', autoResume: false },
  };
}

/** Room on disk is measured. Memory and processor time are known to the engine alone: no number is better than a wrong one. */
export async function toMetrics(sandbox: Sandbox, host: Host): Promise<object[]> {
  const { usedBytes, maxBytes } = await sandbox.quota.measure();
  const now = new Date();
  return [
    {
      timestamp: now.toISOString(),
      timestampUnix: Math.floor(now.getTime() / 1000),
      cpuCount: cpuCountOf(host),
      cpuUsedPct: null,
      memUsed: null,
      memTotal: host.limits.memoryMb * 2 ** 20,
      memCache: null,
      diskUsed: usedBytes,
      diskTotal: maxBytes,
    },
  ];
}

function cpuCountOf({ limits }: Host): number {
  return limits.cpus === null ? availableParallelism() : Math.max(1, Math.floor(limits.cpus));
}

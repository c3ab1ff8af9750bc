import type { Limits } from '../../../config.ts';

/** The limits that are built into a worker, as the zygote takes them. */
export function zygoteLimits(limits: Limits): object {
  return {
    memoryBytes: limits.memoryMb * 2 ** 20,
    cpus: limits.cpus,
    processes: limits.processes,
    openFiles: limits.openFiles,
    fileBytes: limits.fileMb * 2 ** 20,
    rollbackBytes: limits.rollbackMb * 2 ** 20,
  };
}

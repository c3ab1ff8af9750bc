import { VivariumError } from '../../../errors.ts';

/** Where packages come from, as it is configured for this machine. */
export interface PackageIndex {
  /** Addresses of indexes. For each name, the first that has it decides. */
  readonly urls: readonly string[];
  /** Directories with wheels, for machines without an index. */
  readonly directories: readonly string[];
  /** Certificates to trust instead of those of the machine. */
  readonly certificates: Uint8Array | null;
  /** What is configured and not used, in words. */
  readonly unused: string | null;
}

/** What an engine needs to install packages. */
export interface PackageSource {
  /** The program that resolves requirements; it is installed on first use. */
  findUv(signal?: AbortSignal): Promise<string>;
  readIndex(): Promise<PackageIndex>;
}

/** For engines that were started without one. */
export const NO_SOURCE: PackageSource = { findUv: notConfigured, readIndex: notConfigured };

async function notConfigured(): Promise<never> {
  throw new VivariumError('PACKAGE_UNAVAILABLE', 'This engine was started without a source of packages.');
}

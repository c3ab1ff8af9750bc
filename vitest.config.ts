import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: 'test/support/postgres/setup.ts',
    // Tests start real Python processes: whole processes of our own, and no more of them than a small machine has cores.
    pool: 'forks',
    fileParallelism: true,
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is awaited takes long on a busy machine; the default is one second.
    expect: { poll: { timeout: 30_000 } },
  },
});

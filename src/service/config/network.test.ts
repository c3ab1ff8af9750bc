import { expect, test } from 'vitest';
import { loadConfiguration, withOverrides } from './load.ts';
import type { Configuration } from './schema.ts';

const listed = (method: string): Promise<Configuration> =>
  loadConfiguration({
    text: `approval: {}
framework:
  execution:
    execution_method: ${method}
    modes:
      read_only:
        network: { allow: ["\${GATEWAY}:5064", '10.0.0.5:5064'], deny: ['10.0.0.1'] }`,
    environment: { GATEWAY: 'gateway.example.org' },
  });

test('a mode may have a list of hosts', async () => {
  const { modes } = (await listed('local')).framework.execution;
  expect(modes.read_only.network).toEqual({
    allow: ['gateway.example.org:5064', '10.0.0.5:5064'],
    deny: ['10.0.0.1'],
    log: true,
  });
  expect(modes.write_access.network).toBe(false);
});

test('an entry that cannot be read is an error with its line', async () => {
  const text = `approval: {}
framework: { execution: { modes: { write_access: { network: {
  allow: [api.example.com, 'http://api.example.com/'] } } } } }`;
  await expect(loadConfiguration({ text, environment: {} })).rejects.toThrow(
    /line 3: framework\.execution\.modes\.write_access\.network\.allow\.1: .*without a scheme/u,
  );
});

test('a list is refused where nothing would enforce it', async () => {
  const words = /modes\.read_only\.network: only the execution method "local" can hold code to a list/u;
  await expect(listed('container')).rejects.toThrow(words);
  await expect(listed('container')).rejects.toThrow(/line 7: /u);
  const configuration = await listed('local');
  expect(() => withOverrides(configuration, { execution_method: 'container' })).toThrow(words);
});

import { expect, test } from 'vitest';
import { endpointOf, storageAddress } from './addresses.ts';
import { loadConfiguration } from './load.ts';
import type { Configuration } from './schema.ts';

function configured(sections: object): Promise<Configuration> {
  return loadConfiguration({ text: JSON.stringify({ approval: {}, ...sections }), environment: {} });
}

function container(settings: object): Promise<Configuration> {
  return configured({ framework: { execution: { container: settings } } });
}

test('O-28 both modes use the configured server unless they name their own', async () => {
  const configuration = await container({
    jupyter_host: 'lab',
    jupyter_port: 9000,
    jupyter_token: 'common',
    write_access: { jupyter_port: 9001, jupyter_token: 'own', jupyter_scheme: 'https' },
  });
  expect(endpointOf(configuration, 'read_only')).toEqual({
    host: 'lab',
    port: 9000,
    url: 'http://lab:9000',
    token: 'common',
  });
  expect(endpointOf(configuration, 'write_access')).toEqual({
    host: 'lab',
    port: 9001,
    url: 'https://lab:9001',
    token: 'own',
  });
});

test('the token of one server is not sent to another', async () => {
  const configuration = await container({ jupyter_token: 'common', write_access: { jupyter_host: 'other' } });
  expect(endpointOf(configuration, 'read_only').token).toBe('common');
  expect(endpointOf(configuration, 'write_access').token).toBeUndefined();
});

test.for([
  ['::1', 'http://[::1]:8888'],
  ['[::1]', 'http://[::1]:8888'],
  ['10.0.0.1', 'http://10.0.0.1:8888'],
])('the URL of %s is %s', async ([host = '', url]) => {
  expect(endpointOf(await container({ jupyter_host: host }), 'read_only').url).toBe(url);
});

test.for([
  [undefined, '/data/vivarium.sqlite'],
  ['records.sqlite', '/base/records.sqlite'],
  ['/srv/records.sqlite', '/srv/records.sqlite'],
  ['postgresql://lab/records', 'postgresql://lab/records'],
])('the storage %s is at %s', async ([url, address]) => {
  const configuration = await configured({ langgraph: url === undefined ? {} : { storage_url: url } });
  expect(storageAddress(configuration, { dataDir: '/data', baseDir: '/base' })).toBe(address);
});

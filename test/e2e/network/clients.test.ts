/** Clients in a session whose network is a list: each reaches the listed host, and says which host was refused. */
import { beforeAll, expect, test } from 'vitest';
import { said } from '../../support/said.ts';
import { INSTALL_TIMEOUT_MS, installClients, openScene } from './client-scene.ts';

let python = '';
beforeAll(async () => {
  python = await installClients();
}, INSTALL_TIMEOUT_MS);

test('urllib, requests, httpx and curl reach the listed host by HTTP and HTTPS, and name the one that is refused', async () => {
  const { session, http, https } = await openScene(python, (request, response) =>
    response.end(`hello ${request.url ?? ''}`),
  );
  const program = (url: string): Record<string, string> => ({
    urllib: `import urllib.request; print(urllib.request.urlopen("${url}").read().decode())`,
    requests: `import requests; r = requests.get("${url}"); print(r.text); r.raise_for_status()`,
    httpx: `import httpx; r = httpx.get("${url}"); print(r.text); r.raise_for_status()`,
    curl: `import subprocess; print(subprocess.run(["curl", "-sS", "--fail-with-body", "${url}"], capture_output=True, text=True))`,
  });
  for (const url of [`http://api.test:${http.port}/a?b=1`, `https://api.test:${https.port}/a?b=1`]) {
    for (const [client, code] of Object.entries(program(url))) {
      const execution = await session.runCode(code);
      expect(said(execution), client).toContain('hello /a?b=1');
      const told = execution.network?.at(-1); // a connection of the run before may have ended in this one
      expect(told, client).toMatchObject({ host: 'api.test', address: '127.0.0.1', decision: 'allowed' });
      expect(told?.receivedBytes, client).toBeGreaterThan(10);
      expect(execution.isolation.network).toBe('list');
    }
  }
  for (const [client, code] of Object.entries(program('https://evil.test/'))) {
    const execution = await session.runCode(code);
    expect(execution.network?.at(-1), client).toMatchObject({ host: 'evil.test', port: 443, decision: 'refused' });
    const words = client === 'curl' ? '403' : 'evil.test:443 is not on the list of allowed hosts; to allow it, add';
    expect(said(execution), client).toContain(words);
  }
});

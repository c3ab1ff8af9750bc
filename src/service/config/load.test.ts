import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpointOf } from './addresses.ts';
import { loadConfiguration, withOverrides } from './load.ts';
import type { Configuration } from './schema.ts';

/** As the guide prints it; a test of the example compares the two. */
const SEED = readFileSync(new URL('../../../examples/seeds/config.yml', import.meta.url), 'utf8');

function load(text: string, environment: Record<string, string> = {}): Promise<Configuration> {
  return loadConfiguration({ text, environment });
}

async function messageOf(text: string, environment: Record<string, string> = {}): Promise<string> {
  const error = await load(text, environment).then(
    () => undefined,
    (reason: unknown) => reason as Error & { code: string },
  );
  expect(error?.code).toBe('CONFIG_INVALID');
  return error?.message ?? '';
}

test('O-22 to O-32: the documented configuration is read, every key of it (OB-01)', async () => {
  const configuration = await load(SEED, { LOCAL_PYTHON_VENV: '/opt/venv' });
  expect(configuration.framework.python_executor).toEqual({
    max_generation_retries: 3,
    max_execution_retries: 3,
    execution_timeout_seconds: 600,
    max_results_mb: 64,
  });
  expect(configuration.framework.execution).toMatchObject({
    execution_method: 'container',
    modes: {
      read_only: { kernel_name: 'python3-epics-readonly', allows_writes: false, requires_approval: false },
      write_access: { kernel_name: 'python3-epics-write', allows_writes: true, requires_approval: true },
    },
    container: { jupyter_host: 'localhost', jupyter_port: 8888 },
    local: { python_env_path: '/opt/venv' },
  });
  expect(configuration.approval).toEqual({
    global_mode: 'selective',
    capabilities: { python_execution: { enabled: true, mode: 'epics_writes', preview: true } },
  });
});

test('O-22 to O-28, X-14: what is left out has the documented defaults, and runs in the sandbox of this machine', async () => {
  const { framework, execution_control, control_system, file_paths } = await load('approval: {}');
  expect(framework).toEqual({
    python_executor: {
      max_generation_retries: 3,
      max_execution_retries: 3,
      execution_timeout_seconds: 600,
      max_results_mb: 64,
    },
    execution: {
      execution_method: 'local',
      modes: {
        read_only: {
          kernel_name: 'python3-epics-readonly',
          allows_writes: false,
          requires_approval: false,
          network: false,
          environment: {},
        },
        write_access: {
          kernel_name: 'python3-epics-write',
          allows_writes: true,
          requires_approval: true,
          network: false,
          environment: {},
        },
      },
      container: {
        jupyter_host: 'localhost',
        jupyter_port: 8888,
        jupyter_scheme: 'http',
        read_only: {},
        write_access: {},
      },
      local: { memory_mb: 1024, mounts: [] },
      code_generator: 'basic',
      generators: {},
    },
  });
  expect(execution_control.epics.writes_enabled).toBe(false);
  expect(control_system).toEqual({
    writes_enabled: true,
    limits_checking: { enabled: false, allow_unlisted_channels: false },
    patterns: { mode: 'extend', write: [], read: [] },
  });
  expect(file_paths).toEqual({ agent_data_dir: '_agent_data', executed_python_scripts_dir: 'executed_scripts' });
});

test('O-73: what the approval section leaves out is strict; without the section nothing starts', async () => {
  const { approval } = await load('approval:\n  capabilities: {}\n');
  expect(approval).toEqual({
    global_mode: 'selective',
    capabilities: { python_execution: { enabled: true, mode: 'all_code', preview: true } },
  });
  for (const text of ['', 'framework: {}', 'approval:\n', '# nothing']) {
    expect(await messageOf(text)).toMatch(/approval: this section is missing.*does not start/u);
  }
});

test('O-73: the configuration cannot be changed', async () => {
  const configuration = await load(SEED, { LOCAL_PYTHON_VENV: '/v' });
  const python = configuration.approval.capabilities.python_execution as { mode: string };
  expect(() => (python.mode = 'disabled')).toThrow(TypeError);
  expect(() => (configuration.control_system.patterns.write as string[]).push('x')).toThrow(TypeError);
});

test('O-29: values take variables of the environment, with and without a default', async () => {
  const text = `
approval: { global_mode: "\${MODE:-selective}" }
framework:
  execution:
    container:
      jupyter_host: "\${HOST}.\${DOMAIN:-example.org}"
      jupyter_port: \${PORT:-8889}
      jupyter_token: \${TOKEN}
    local: { python_env_path: '$\${literal}' }
execution_control: { epics: { writes_enabled: "\${WRITES}" } }
`;
  const configuration = await load(text, { HOST: 'lab', TOKEN: '12345', WRITES: 'true', MODE: '' });
  expect(configuration.framework.execution.container).toMatchObject({
    jupyter_host: 'lab.example.org',
    jupyter_port: 8889,
    jupyter_token: '12345',
  });
  expect(configuration.framework.execution.local.python_env_path).toBe('${literal}');
  expect(configuration.execution_control.epics.writes_enabled).toBe(true);
  expect(configuration.approval.global_mode).toBe('selective');
});

test('O-29: a variable that is not set matters only to the execution method whose section names it', async () => {
  const configuration = await load(SEED);
  expect(configuration.framework.execution.local).not.toHaveProperty('python_env_path');
  expect(withOverrides(configuration, { execution_method: 'container' })).toBe(configuration);
  expect(() => withOverrides(configuration, { execution_method: 'local' })).toThrow(
    'The execution method "local" cannot be used: framework.execution.local.python_env_path: the environment variable LOCAL_PYTHON_VENV is not set: set it, or write ${LOCAL_PYTHON_VENV:-default}.',
  );
  const set = await load(SEED, { LOCAL_PYTHON_VENV: '/opt/venv' });
  expect(withOverrides(set, { execution_method: 'local' }).framework.execution.execution_method).toBe('local');
  const unused = 'approval: {}\nframework: { execution: { container: { jupyter_port: "${PORT}" } } }';
  expect((await load(unused)).framework.execution.container.jupyter_port).toBe(8888);
});

test('a mistake elsewhere is told together with what is not set, also where that alone would not matter', async () => {
  const text = 'approval: {}\nframework: { execution: { container: { jupyter_port: "${PORT}" } }, speed: 1 }';
  const message = await messageOf(text);
  expect(message).toContain('framework.execution.container.jupyter_port: the environment variable PORT');
  expect(message).toContain('framework.speed: unknown key');
});

test('the token of the server is JUPYTER_TOKEN unless the file has another, and goes to no other server', async () => {
  const environment = { JUPYTER_TOKEN: 'mine', LOCAL_PYTHON_VENV: '/opt/venv' };
  expect(endpointOf(await load(SEED, environment), 'read_only').token).toBe('mine');
  const given = 'approval: {}\nframework: { execution: { container: { jupyter_token: own } } }';
  expect(endpointOf(await load(given, environment), 'write_access').token).toBe('own');
  const other =
    'approval: {}\nframework: { execution: { container: { write_access: { jupyter_host: lab.example.org } } } }';
  expect(endpointOf(await load(other, environment), 'write_access').token).toBeUndefined();
  expect(endpointOf(await load(SEED, { JUPYTER_TOKEN: '' }), 'read_only').token).toBeUndefined();
});

test('O-29: a variable that is not set is an error that names key, line and variable', async () => {
  const local = SEED.replace('"container" #', '"local" #');
  expect(await messageOf(local)).toContain(
    'line 28: framework.execution.local.python_env_path: the environment variable LOCAL_PYTHON_VENV is not set',
  );
  expect(await messageOf('approval: { global_mode: "${a b}" }')).toContain(
    'approval.global_mode: "${a b}" is not a valid ref',
  );
  expect(await messageOf('approval: {}\ncontrol_system:\n  patterns:\n    write: [ok, "${X}"]')).toContain(
    'line 4: control_system.patterns.write.1: the environment variable X',
  );
});

test('what a variable holds is text: it can add no keys, and names no further variables', async () => {
  const text = 'approval: { global_mode: "${X}" }\nfile_paths:\n  agent_data_dir: ${Y}';
  const hostile = { X: 'disabled }\nexecution_control: { epics: { writes_enabled: true } }', Y: '${HOME}' };
  expect(await messageOf(text, hostile)).toContain('approval.global_mode: must be "disabled" or');
  const configuration = await load(text, { X: 'selective', Y: '${HOME}' });
  expect(configuration.file_paths.agent_data_dir).toBe('${HOME}');
});

test('U-73: unknown keys are errors with line, full name and what was probably meant', async () => {
  const message = await messageOf(`
approval:
  global_mod: selective
framework:
  execution:
    modes:
      read_only:
        require_approval: true
execution:
  execution_method: local
completely_different: 1
`);
  expect(message).toContain('line 3: approval.global_mod: unknown key; did you mean approval.global_mode?');
  expect(message).toContain(
    'line 8: framework.execution.modes.read_only.require_approval: unknown key; did you mean framework.execution.modes.read_only.requires_approval?',
  );
  expect(message).toContain('line 9: execution: unknown key; did you mean framework.execution?');
  expect(message).toMatch(/line 11: completely_different: unknown key$/mu);
  expect(message).toContain('docs/service-config.md');
});

test('U-73: keys of the reference for other parts are taken, and said to do nothing', async () => {
  const warnings: string[] = [];
  const text = `
approval:
  capabilities: { python_execution: { mode: epics_writes }, memory: { enabled: true } }
execution_control:
  limits: { max_reclassifications: 1, max_planning_attempts: 2, max_step_retries: 3, max_execution_time_seconds: 3000, graph_recursion_limit: 50 }
container_runtime: auto
langgraph: { use_postgres: false }
services: { jupyter: { containers: { read: { hostname: x, port_host: 8088 } } } }
`;
  const configuration = await loadConfiguration({ text, environment: {}, onWarning: (said) => warnings.push(said) });
  expect(configuration.execution_control.limits).toEqual({ graph_recursion_limit: 50 });
  expect(warnings).toHaveLength(8);
  expect(warnings).toContainEqual(
    expect.stringMatching(/^line 6 of config\.yml: container_runtime: .*the key has no effect/),
  );
  const misspelt = 'approval: {}\nexecution_control: { limits: { max_step_retry: 3 } }\ncontainer_runtimes: auto';
  expect(await messageOf(misspelt)).toMatch(/max_step_retry: unknown key[^]*container_runtimes: unknown key/);
});

test('O-115: each mode may have a server of its own', async () => {
  const text = `
approval: {}
framework:
  execution:
    container:
      jupyter_host: "::1"
      jupyter_token: common
      read_only: { jupyter_port: 8088 }
      write_access: { jupyter_host: lab.example.org, jupyter_port: 8089, jupyter_scheme: https, jupyter_token: other }
`;
  const configuration = await load(text);
  expect(endpointOf(configuration, 'read_only')).toEqual({
    host: '::1',
    port: 8088,
    url: 'http://[::1]:8088',
    token: 'common',
  });
  expect(endpointOf(configuration, 'write_access')).toMatchObject({
    url: 'https://lab.example.org:8089',
    token: 'other',
  });
});

test('O-29: an empty section and a reference to nothing say nothing', async () => {
  const text = `
approval: {}
framework:
  execution:
    local:
    container: { jupyter_token: "\${TOKEN:-}", jupyter_port: "\${PORT:-}" }
    modes: { read_only: { environment: { GATEWAY: "\${GATEWAY:-}" } } }
`;
  const { execution } = (await load(text)).framework;
  expect(execution.local).toEqual({ memory_mb: 1024, mounts: [] });
  expect(execution.container.jupyter_port).toBe(8888);
  expect(execution.container.jupyter_token).toBeUndefined();
  expect(execution.modes.read_only.environment).toEqual({});
});

test('U-73: wrong values are errors with line and full name', async () => {
  const message = await messageOf(`
approval: { global_mode: off }
framework:
  python_executor: { max_generation_retries: -1, execution_timeout_seconds: soon }
  execution:
    execution_method: docker
    modes: { read_only: { allows_writes: true } }
control_system: { patterns: { write: ['\\bcaput\\s*\\('] } }
`);
  expect(message).toContain('line 2: approval.global_mode: must be "disabled" or "selective" or "all_capabilities"');
  expect(message).toContain('line 4: framework.python_executor.max_generation_retries: ');
  expect(message).toContain('line 4: framework.python_executor.execution_timeout_seconds: ');
  expect(message).toContain('line 6: framework.execution.execution_method: must be "local" or "container"');
  expect(message).toContain('line 7: framework.execution.modes.read_only.allows_writes: must be false');
  expect(message).toContain('control_system.patterns.write.0: must be a name such as epics.caput');
});

test('text that is no YAML is an error with its line', async () => {
  expect(await messageOf('approval: {}\nframework: [')).toMatch(/line 2: /u);
  expect(await messageOf('approval: {}\napproval: {}')).toMatch(/line 2: .*unique/u);
  expect(await messageOf('approval: !!js/function "x"')).toMatch(/line 1: /u);
  expect(await messageOf('- 1')).toContain('expected object');
  const layers = Array.from({ length: 20 }, (_, n) => `b${n + 1}: &b${n + 1} [*b${n}, *b${n}]`);
  const bomb = ['b0: &b0 [x, x]', ...layers].join('\n');
  expect(await messageOf(bomb)).toMatch(/alias/u);
});

test('a file is read by path, and one that cannot be read is named', async () => {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'configuration-'));
  try {
    const file = path.join(directory, 'config.yml');
    await writeFile(file, 'approval: {}');
    expect((await loadConfiguration({ path: file, environment: {} })).approval.global_mode).toBe('selective');
    const missing = loadConfiguration({ path: path.join(directory, 'none.yml'), environment: {} });
    await expect(missing).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('none.yml') as unknown,
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('O-09, OB-02: a request may choose its execution method, and no other word for it', async () => {
  const configuration = await load('approval: {}');
  const other = withOverrides(configuration, { execution_method: 'container', thread_id: 't' });
  expect(other.framework.execution.execution_method).toBe('container');
  expect(configuration.framework.execution.execution_method).toBe('local');
  expect(Object.isFrozen(other.framework.execution)).toBe(true);
  expect(withOverrides(configuration, { thread_id: 't' })).toBe(configuration);
  for (const method of ['docker', null, 5, {}]) {
    expect(() => withOverrides(configuration, { execution_method: method })).toThrow(/configurable\.execution_method/u);
  }
});

/** Keys for parts of the reference that this service does not have. They are accepted with a warning and ignored. */
const PLANNING = 'this service has no classification or planning, so the key has no effect';

const FOREIGN: Readonly<Record<string, string>> = {
  'execution_control.limits.max_reclassifications': PLANNING,
  'execution_control.limits.max_planning_attempts': PLANNING,
  'execution_control.limits.max_step_retries': `${PLANNING}. Set framework.python_executor.max_execution_retries`,
  'execution_control.limits.max_execution_time_seconds': `${PLANNING}. Set framework.python_executor.execution_timeout_seconds`,
  'approval.capabilities.memory': 'this service has no memory, so the key has no effect',
  container_runtime: 'the service starts no containers, so the key has no effect',
  services:
    'the service starts no containers, so the key has no effect. Set the addresses of Jupyter servers in framework.execution.container',
  'langgraph.use_postgres': 'the key has no effect. To use PostgreSQL, set langgraph.storage_url',
};

type ConfigSection = Record<string, unknown>;

/** Removes these keys, and reports each one. */
export function withoutForeign(content: unknown, onForeign: (key: string, text: string) => void): unknown {
  const own = structuredClone(content);
  for (const [name, text] of Object.entries(FOREIGN)) {
    const steps = name.split('.');
    const section = steps.slice(0, -1).reduce<unknown>((part, step) => (isSection(part) ? part[step] : undefined), own);
    const last = steps.at(-1) ?? '';
    if (!isSection(section) || !Object.hasOwn(section, last)) continue;
    delete section[last];
    onForeign(name, text);
  }
  return own;
}

/** Removes keys without a value, such as an empty section or an unset variable. */
export function withoutEmptyKeys(content: unknown): unknown {
  if (Array.isArray(content)) return content.map(withoutEmptyKeys);
  if (!isSection(content)) return content;
  const said = Object.entries(content).filter(([, value]) => value !== null && value !== undefined);
  // Settings of generators are passed on unchanged.
  return Object.fromEntries(said.map(([key, value]) => [key, key === 'generators' ? value : withoutEmptyKeys(value)]));
}

function isSection(value: unknown): value is ConfigSection {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

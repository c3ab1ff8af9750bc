/** Keys that files of the reference have, for parts that this service is not. They are taken, said to do nothing, and left out. */
const PLANNING = 'this service neither classifies nor plans; it does nothing here';

const FOREIGN: Readonly<Record<string, string>> = {
  'execution_control.limits.max_reclassifications': PLANNING,
  'execution_control.limits.max_planning_attempts': PLANNING,
  'execution_control.limits.max_step_retries': `${PLANNING}. Set framework.python_executor.max_execution_retries`,
  'execution_control.limits.max_execution_time_seconds': `${PLANNING}. Set framework.python_executor.execution_timeout_seconds`,
  'approval.capabilities.memory': 'there is no memory to approve changes of; it does nothing here',
  container_runtime: 'the service starts no containers; it does nothing here',
  services:
    'the service starts no containers; it does nothing here. Say where Jupyter servers are in framework.execution.container',
  'langgraph.use_postgres': 'PostgreSQL is used where langgraph.storage_url names it; this key does nothing',
};

type ConfigSection = Record<string, unknown>;

/** The content without them; each is told by its name. */
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

/** A key without a value, as an empty section or a reference to nothing leave it, says nothing. */
export function withoutNothing(content: unknown): unknown {
  if (Array.isArray(content)) return content.map(withoutNothing);
  if (!isSection(content)) return content;
  const said = Object.entries(content).filter(([, value]) => value !== null && value !== undefined);
  // Settings of generators are handed on as they are.
  return Object.fromEntries(said.map(([key, value]) => [key, key === 'generators' ? value : withoutNothing(value)]));
}

function isSection(value: unknown): value is ConfigSection {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

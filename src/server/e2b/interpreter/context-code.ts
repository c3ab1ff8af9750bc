/** Python code that a context runs besides what its user sends. */
import { HOME } from '../files/paths.ts';

/** Of a table with more cells the user gets no `data`, as it would take more room than a result has. */
const MAX_CELLS = 50_000;

/**
 * Runs before anything else, and again in a fresh interpreter: goes to the directory of the context, and has tables show
 * their columns as `e2b/data`. It leaves no name behind.
 */
export function setUpCode(cwd: string): string {
  return `def _set_up():
    import json, os, sys
    os.chdir(${JSON.stringify(cwd)})
    if ${JSON.stringify(HOME)} not in sys.path and "" not in sys.path:
        sys.path.insert(0, "")
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return
    def columns_of(frame, **_):
        if frame.size > ${MAX_CELLS}:
            return {}
        table = json.loads(frame.to_json(orient="split", date_format="iso"))
        names = [name if isinstance(name, str) else str(name) for name in frame.columns]
        rows = table["data"]
        return {"e2b/data": json.dumps({name: [row[place] for row in rows] for place, name in enumerate(names)})}
    pandas.DataFrame._repr_mimebundle_ = columns_of
_set_up()
del _set_up`;
}

/** Sets environment variables for one run. */
export function setVariablesCode(variables: Readonly<Record<string, string>>): string {
  return `__import__("os").environ.update(${toPython(variables)})`;
}

/** Gives them back the values that they have in the sandbox, or none. */
export function restoreVariablesCode(names: readonly string[], usual: Readonly<Record<string, string>>): string {
  const old = Object.fromEntries(
    names.map((name) => [name, Object.hasOwn(usual, name) ? (usual[name] ?? null) : null]),
  );
  const each =
    '__import__("os").environ.pop(name, None) if value is None else __import__("os").environ.__setitem__(name, value)';
  return `[${each} for name, value in ${toPython(old)}.items()] and None`;
}

/** JSON text in a Python string, so that whatever a caller sends is data. */
function toPython(value: unknown): string {
  return `__import__("json").loads(${JSON.stringify(JSON.stringify(value))})`;
}

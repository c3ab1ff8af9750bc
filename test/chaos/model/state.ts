/** What a session should hold: its variables and the files of its workspace, as plain data that the oracle compares. */
import { isDeepStrictEqual } from 'node:util';
import type { Json, VariableChanges } from '../../../src/execution/execution.ts';

export interface State {
  /** Numbers and lists as they are; other types with a tag, as READ_STATE encodes them. */
  readonly variables: Readonly<Record<string, Json>>;
  /** Contents by path. */
  readonly files: Readonly<Record<string, string>>;
}

export const EMPTY: State = { variables: {}, files: {} };

export function withVariable(state: State, name: string, value: Json): State {
  return { ...state, variables: { ...state.variables, [name]: value } };
}

export function withoutVariable({ variables, files }: State, name: string): State {
  const { [name]: _, ...rest } = variables;
  return { variables: rest, files };
}

export function withFile(state: State, path: string, content: string): State {
  return { ...state, files: { ...state.files, [path]: content } };
}

export function withoutFile({ variables, files }: State, path: string): State {
  const { [path]: _, ...rest } = files;
  return { variables, files: rest };
}

/** What a receipt should say about the variables of a run that led from one state to the other. */
export function changesBetween(before: State, after: State): VariableChanges {
  const had = (name: string): boolean => Object.hasOwn(before.variables, name);
  const has = (name: string): boolean => Object.hasOwn(after.variables, name);
  const names = Object.keys(after.variables).toSorted();
  return {
    added: names.filter((name) => !had(name)),
    changed: names.filter((name) => had(name) && !isDeepStrictEqual(before.variables[name], after.variables[name])),
    removed: Object.keys(before.variables)
      .filter((name) => !has(name))
      .toSorted(),
  };
}

/** The files that a run should say it wrote. Deleted ones are not told. */
export function writtenBetween(before: State, after: State): string[] {
  return Object.keys(after.files)
    .filter((path) => before.files[path] !== after.files[path])
    .toSorted();
}

/** Equal states have equal keys. */
export function keyOf(state: State | null): string {
  return JSON.stringify(state === null ? null : [sorted(state.variables), sorted(state.files)]);
}

function sorted(record: Readonly<Record<string, Json>>): Json {
  return Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Python that puts everything a session holds into `_state`, a name that counts as no variable. */
export const READ_STATE = `
def _read():
    import os, sys, types
    def encode(value):
        numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
        if type(value) in (int, list): return value
        if type(value) is dict: return {"dict": value}
        if numpy is not None and type(value) is numpy.ndarray: return {"array": value.tolist()}
        if pandas is not None and type(value) is pandas.DataFrame: return {"frame": value.to_dict("list")}
        if type(value).__name__ == "Context": return {"context": value.SENSOR.hall.celsius}
        return {"attributes": dict(vars(value))}
    def read(path):
        with open(path) as file: return file.read()
    variables = {name: encode(value) for name, value in globals().items()
                 if not name.startswith("_") and type(value) is not types.ModuleType}
    paths = [os.path.relpath(os.path.join(folder, name)) for folder, _, names in os.walk(".") for name in names]
    hidden = (".output", "export-")  # long outputs, and a table that could not be removed yet for want of descriptors
    return {"variables": variables, "files": {path: read(path) for path in paths if not path.startswith(hidden)}}
_state = _read()
`;

/** The answer of READ_STATE for a state. */
export function readingOf({ variables, files }: State): Json {
  return { variables, files };
}

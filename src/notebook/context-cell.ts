/** Cells for a run whose data is in files next to the notebook: its context, its results and its figures. */
import { pythonString } from '../text/code/python-code.ts';
import { codeCell, markdownCell, type CodeCell, type MarkdownCell } from './nbformat.ts';
import { inlineText } from './text.ts';

export interface ContextCellOptions {
  /** The text of `python/_vivarium/payloads/context.py`: the notebook needs nothing else to be installed. */
  readonly loader: string;
  /** The JSON file, relative to the notebook. */
  readonly path: string;
}

/** Defines `context`, which later cells read as `context.TYPE.key.field`. */
export function contextCell(id: string, { loader, path }: ContextCellOptions): CodeCell {
  const code = `${loaderModule(loader)}\n\ncontext = load_context(${pythonString(path)})`;
  return codeCell(id, code, { metadata: { jupyter: { source_hidden: true } } });
}

/** The loader is a module of its own: variables of the program, such as `list` or `json`, would break it. */
function loaderModule(loader: string): string {
  const source = loader.includes("'''") || loader.includes('\\') ? pythonString(loader) : `r'''${loader}'''`;
  return `import sys, types

sys.modules["vivarium_context"] = types.ModuleType("vivarium_context")
exec(${source}, vars(sys.modules["vivarium_context"]))
from vivarium_context import Context, load_context`;
}

/** Loads and shows the results from a JSON file, relative to the notebook. */
export function resultsCell(id: string, path: string): CodeCell {
  const code = `import json
from pathlib import Path

results = json.loads(Path(${pythonString(path)}).read_text(encoding="utf-8"))
results`;
  return codeCell(id, code);
}

/** Shows image files next to the notebook. */
export function figuresCell(id: string, paths: readonly string[]): MarkdownCell {
  const links = paths.map((path) => `![${inlineText(path)}](<${linkTo(path)}>)`);
  return markdownCell(id, ['## Figures', ...links].join('\n\n'));
}

function linkTo(path: string): string {
  return path.toWellFormed().split('/').map(encodeURIComponent).join('/');
}

/** What the cells of a notebook show, in a form in which two notebooks can be compared. */
import type { CodeCell, MimeBundle, Notebook, CellOutput } from '../../src/notebook/nbformat.ts';

export interface Shown {
  readonly code: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly results: readonly unknown[];
  readonly errors: readonly { readonly ename: string; readonly evalue: string }[];
}

export function shownBy(notebook: Notebook): Shown[] {
  return notebook.cells.filter((cell) => cell.cell_type === 'code').map(shownByCell);
}

function shownByCell({ source, outputs }: CodeCell): Shown {
  return {
    code: join(source),
    stdout: streamText(outputs, 'stdout'),
    stderr: streamText(outputs, 'stderr'),
    results: outputs.flatMap((output) =>
      'data' in output ? [{ type: output.output_type, ...formsOf(output.data) }] : [],
    ),
    errors: outputs.flatMap((output) =>
      output.output_type === 'error' ? [{ ename: output.ename, evalue: output.evalue }] : [],
    ),
  };
}

/** Two streams reach us on two ways, so that only the order within each is sure. */
function streamText(outputs: readonly CellOutput[], name: 'stdout' | 'stderr'): string {
  return outputs.map((output) => ('name' in output && output.name === name ? join(output.text) : '')).join('');
}

/** Text as it is but for addresses; of pictures, that there is one: a kernel draws them at a resolution of its own. */
function formsOf(data: MimeBundle): Record<string, unknown> {
  const forms = Object.entries(data).map(([mime, form]) => {
    if (mime.startsWith('image/')) return [mime, 'a picture'];
    return [mime, mime.startsWith('text/') ? withoutAddresses(join(form as string | string[])) : form];
  });
  return Object.fromEntries(forms) as Record<string, unknown>;
}

function withoutAddresses(text: string): string {
  return text.replaceAll(/0x[0-9a-f]{6,}/g, '0x…').replaceAll('<IPython.core.display.', '<');
}

function join(lines: string | readonly string[]): string {
  return typeof lines === 'string' ? lines : lines.join('');
}

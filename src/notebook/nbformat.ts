/** The notebook format of Jupyter, nbformat 4.5. The names are those of the format. */
import type { InstalledPackage, Json } from '../execution/execution.ts';
import type { Reached } from './reached.ts';
import { linesOf, wellFormed } from './text.ts';

export interface Notebook {
  readonly nbformat: 4;
  readonly nbformat_minor: 5;
  readonly metadata: {
    readonly kernelspec: { readonly name: string; readonly display_name: string; readonly language: 'python' };
    readonly language_info: { readonly name: 'python'; readonly version: string } & Readonly<Record<string, Json>>;
    readonly title?: string;
    /** What was installed for the session, with the sha256 of each wheel. */
    readonly vivarium?: { readonly packages: readonly InstalledPackage[] };
  };
  readonly cells: readonly Cell[];
}

export type Cell = MarkdownCell | CodeCell | RawCell;

export interface MarkdownCell extends CellBase {
  readonly cell_type: 'markdown';
  readonly attachments?: Readonly<Record<string, MimeBundle>>;
}

export interface RawCell extends CellBase {
  readonly cell_type: 'raw';
}

export interface CodeCell extends CellBase {
  readonly cell_type: 'code';
  readonly execution_count: number | null;
  readonly outputs: readonly CellOutput[];
}

interface CellBase {
  /** Unique within the notebook. */
  readonly id: string;
  readonly metadata: CellMetadata;
  readonly source: readonly string[];
}

export interface CellMetadata {
  readonly tags?: readonly string[];
  readonly jupyter?: { readonly source_hidden?: boolean };
  /** When it ran. Jupyter names these times after its messages. */
  readonly execution?: { readonly 'iopub.execute_input': string; readonly 'shell.execute_reply': string };
  /** What it reached, where the network of the session is a list. */
  readonly vivarium?: { readonly network: Reached };
}

export type CellOutput =
  | { readonly output_type: 'stream'; readonly name: 'stdout' | 'stderr'; readonly text: readonly string[] }
  | { readonly output_type: 'display_data'; readonly data: MimeBundle; readonly metadata: Record<string, never> }
  | {
      readonly output_type: 'execute_result';
      readonly execution_count: number | null;
      readonly data: MimeBundle;
      readonly metadata: Record<string, never>;
    }
  | {
      readonly output_type: 'error';
      readonly ename: string;
      readonly evalue: string;
      readonly traceback: readonly string[];
    };

/** The forms of one output: base64 as a string, JSON as it is, text as lines. */
export type MimeBundle = Readonly<Record<string, Json>>;

export interface NotebookFacts {
  /** The Python version that ran the cells. */
  readonly pythonVersion: string;
  readonly kernelName?: string;
  readonly title?: string;
}

export interface CodeCellOptions {
  readonly executionCount?: number | null;
  readonly outputs?: readonly CellOutput[];
  readonly metadata?: CellMetadata;
}

/** Creates a notebook. Cell ids are made valid and unique, and are the same each time for the same cells. */
export function createNotebook(
  cells: readonly Cell[],
  options: NotebookFacts,
  packages: readonly InstalledPackage[] = [],
): Notebook {
  const { pythonVersion, kernelName = 'python3', title } = options;
  return {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {
      kernelspec: { name: kernelName, display_name: 'Python 3 (ipykernel)', language: 'python' },
      language_info: {
        name: 'python',
        version: pythonVersion,
        mimetype: 'text/x-python',
        file_extension: '.py',
        pygments_lexer: 'ipython3',
        codemirror_mode: { name: 'ipython', version: 3 },
        nbconvert_exporter: 'python',
      },
      ...(title !== undefined && { title: wellFormed(title) }),
      ...(packages.length > 0 && { vivarium: { packages } }),
    },
    cells: withUniqueIds(cells),
  };
}

/** The text refers to an attachment as `![](attachment:name)`. */
export function markdownCell(id: string, text: string, attachments: MarkdownCell['attachments'] = {}): MarkdownCell {
  const hasAny = Object.keys(attachments).length > 0;
  return { cell_type: 'markdown', id, metadata: {}, source: linesOf(text), ...(hasAny && { attachments }) };
}

export function rawCell(id: string, text: string): RawCell {
  return { cell_type: 'raw', id, metadata: {}, source: linesOf(text) };
}

export function codeCell(id: string, code: string, options: CodeCellOptions = {}): CodeCell {
  const { executionCount = null, outputs = [], metadata = {} } = options;
  return { cell_type: 'code', id, metadata, source: linesOf(code), execution_count: executionCount, outputs };
}

const LONGEST_ID = 64;

function withUniqueIds(cells: readonly Cell[]): Cell[] {
  const taken = new Set<string>();
  return cells.map((cell) => {
    const wish = cell.id.replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, LONGEST_ID) || 'cell';
    let id = wish;
    for (let number = 2; taken.has(id); number += 1) {
      const ending = `-${number}`;
      id = wish.slice(0, LONGEST_ID - ending.length) + ending;
    }
    taken.add(id);
    return { ...cell, id };
  });
}

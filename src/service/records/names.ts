/** Names of record folders and of the files in them. All times are UTC. */
import type { AttemptStage } from '../api/result.ts';

export const FILES = {
  context: 'context.json',
  results: 'results.json',
  metadata: 'execution_metadata.json',
  notebook: 'notebook.ipynb',
} as const;

/** The sub-folders of a record. */
export const FOLDERS = {
  attempts: 'attempts',
  figures: 'figures',
  inputs: 'inputs',
  /** Files that the code wrote. */
  files: 'files',
} as const;
export type RecordSubfolder = (typeof FOLDERS)[keyof typeof FOLDERS];

const FOLDER = /^\d{4}-\d{2}\/execution_\d{8}_\d{6}_[\w.-]{1,100}_[0-9a-f]{8}$/;
const ATTEMPT = /^(\d{2,})_\w+_\d{6}\.ipynb$/;
const FIGURE = /^figure_\d{2,}\.\w+$/;

/** `2024-07`, the folder of a month. */
export function monthOf(time: Date): string {
  return time.toISOString().slice(0, 7);
}

/** `execution_20240701_120000_<name>_<8 hex>`. */
export function folderName(time: Date, name: string, hex: string): string {
  return `execution_${dateOf(time)}_${clockOf(time)}_${name}_${hex}`;
}

/** Whether a path, relative to the directory of all records, is the path of a record. */
export function isRecordPath(relative: string): boolean {
  return FOLDER.test(relative);
}

/** The name of an attempt's notebook without its time. */
export function attemptPrefix(number: number, stage: AttemptStage): string {
  return `${twoDigits(number)}_${stage}_`;
}

export function attemptName(number: number, stage: AttemptStage, time: Date): string {
  return `${attemptPrefix(number, stage)}${clockOf(time)}.ipynb`;
}

/** Undefined for a file that is not an attempt's notebook. */
export function attemptNumberOf(name: string): number | undefined {
  const number = ATTEMPT.exec(name)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** The run of a preview, before anybody has approved it. */
export function previewName(attempt: number): string {
  return `.preview_${twoDigits(attempt)}.json`;
}

export function figureName(number: number, extension: string): string {
  return `figure_${twoDigits(number)}.${extension}`;
}

export function isFigureName(name: string): boolean {
  return FIGURE.test(name);
}

function dateOf(time: Date): string {
  return time.toISOString().slice(0, 10).replaceAll('-', '');
}

function clockOf(time: Date): string {
  return time.toISOString().slice(11, 19).replaceAll(':', '');
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

/** What the folder of a request and the notebooks in it are called. All times are UTC. */
import type { AttemptStage } from '../api/result.ts';

export const FILES = {
  context: 'context.json',
  results: 'results.json',
  metadata: 'execution_metadata.json',
  notebook: 'notebook.ipynb',
} as const;

export const ATTEMPTS = 'attempts';
export const FIGURES = 'figures';
export const INPUTS = 'inputs';
/** What the code wrote. */
export const PRODUCTS = 'files';

const FOLDER = /^\d{4}-\d{2}\/execution_\d{8}_\d{6}_[\w.-]{1,100}_[0-9a-f]{8}$/;
const ATTEMPT = /^(\d{2,})_\w+_\d{6}\.ipynb$/;
const FIGURE = /^figure_\d{2,}\.\w+$/;

/** `2024-07`, the directory of a month. */
export function monthOf(time: Date): string {
  return time.toISOString().slice(0, 7);
}

/** `execution_20240701_120000_<name>_<8 hex>`. */
export function folderName(time: Date, name: string, hex: string): string {
  return `execution_${dateOf(time)}_${clockOf(time)}_${name}_${hex}`;
}

/** Whether a path, seen from the directory of all records, is that of one. */
export function isRecordPath(relative: string): boolean {
  return FOLDER.test(relative);
}

/** All of an attempt's name but its time. */
export function attemptPrefix(number: number, stage: AttemptStage): string {
  return `${twoDigits(number)}_${stage}_`;
}

export function attemptName(number: number, stage: AttemptStage, time: Date): string {
  return `${attemptPrefix(number, stage)}${clockOf(time)}.ipynb`;
}

/** Undefined for a file that is no attempt. */
export function attemptNumberOf(name: string): number | undefined {
  const number = ATTEMPT.exec(name)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** What a run behind walls gave, before it was approved. */
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

/** One mutant for each documented feature: a change to the code after which the feature is gone. */
import { LAGENT } from './rows/lagent.ts';
import { OSPREY_APPROVAL } from './rows/osprey-approval.ts';
import { OSPREY_EXECUTION } from './rows/osprey-execution.ts';
import { PANTHEON } from './rows/pantheon.ts';
import { SYNAPSEKIT } from './rows/synapsekit.ts';

/** A change to one place of the code. */
export interface Mutant {
  /** What is gone, in words. */
  readonly without: string;
  readonly file: string;
  /** Text that occurs once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** Mutants by the ids of the features. */
export type Mutants = Readonly<Record<string, Mutant>>;

export const MUTANTS: ReadonlyMap<string, Mutant> = new Map(
  [PANTHEON, SYNAPSEKIT, LAGENT, OSPREY_EXECUTION, OSPREY_APPROVAL].flatMap((rows) => Object.entries(rows)),
);

/** Returns the changed source. Throws if the mutant does not fit it. */
export function applyTo(source: string, { file, find, replace }: Mutant): string {
  const places = source.split(find).length - 1;
  if (places !== 1)
    throw new Error(`${file} has ${places} places with the text ${JSON.stringify(find)}; one is needed`);
  return source.replace(find, () => replace);
}

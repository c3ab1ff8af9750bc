/** Something that a server does for this program. */
export interface Stoppable {
  stop(): Promise<void>;
}

/** What a server does for this program, and stops when the program lets go of it. */
export type UnderWay = Set<Stoppable>;

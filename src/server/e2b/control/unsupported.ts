/** Something that E2B has and Vivarium does not. */
export class UnsupportedFeature extends Error {
  constructor(what: string, advice = 'See docs/e2b.md for what works.') {
    super(`${what} is not supported by Vivarium. ${advice}`);
  }
}

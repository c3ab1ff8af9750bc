/** JavaScript for any Node, which says in `problem` what this one lacks. Vivarium itself has syntax that came with Node 24. */
export const NODE_CHECK = `var problem =
  Number.parseInt(process.versions.node, 10) < 24
    ? 'vivarium needs Node 24 or later, but this is Node ' + process.versions.node + '. Install a newer one, for example from https://nodejs.org or with \`nvm install 24\`.'
    : '';`;

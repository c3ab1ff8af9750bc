/** The page at /docs: lists what the server can be asked for, and asks for it. It loads nothing but /openapi.json. */
import { createHash } from 'node:crypto';

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2rem; text-transform: capitalize; }
details { border-bottom: 1px solid #8884; padding: .3rem 0; } summary { cursor: pointer; }
code, pre, textarea, input { font: 13px/1.4 ui-monospace, monospace; }
pre { overflow: auto; max-height: 24rem; background: #8881; padding: .6rem; border-radius: .3rem; }
.method { display: inline-block; width: 4rem; font-weight: 600; text-transform: uppercase; }
form { display: grid; gap: .4rem; margin: .6rem 0; } label { display: grid; grid-template-columns: 10rem 1fr; gap: .5rem; }
textarea { min-height: 5rem; } button { justify-self: start; padding: .2rem 1rem; }
`;

const SCRIPT = `
const make = (tag, text, ...children) => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};
const field = (name, element) => { element.name = name; return make('label', '', make('code', name), element); };
const nameOf = (schema) => schema && schema.$ref ? schema.$ref.split('/').at(-1) : undefined;
const json = (value) => make('pre', JSON.stringify(value, null, 2));

async function send(form, path, method, operation, output) {
  const headers = {};
  const key = document.querySelector('#key').value;
  if (key) headers.authorization = 'Bearer ' + key;
  const query = new URLSearchParams();
  let address = path;
  for (const { name, in: place } of operation.parameters ?? []) {
    const value = form.elements[name].value;
    if (place === 'path') address = address.replace('{' + name + '}', value.split('/').map(encodeURIComponent).join('/'));
    else if (place === 'query' && value) query.set(name, value);
    else if (place === 'header' && value) headers[name] = value;
  }
  const body = form.elements.body?.value;
  const type = Object.keys(operation.requestBody?.content ?? {})[0];
  if (body) headers['content-type'] = type;
  output.textContent = 'waiting';
  try {
    const answer = await fetch(query.size ? address + '?' + query : address, { method, headers, ...(body && { body }) });
    const text = await answer.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it is not JSON */ }
    output.textContent = answer.status + ' ' + answer.statusText + '\\n\\n' + shown.slice(0, 100000);
  } catch (error) {
    output.textContent = String(error);
  }
}

function formOf(path, method, operation, schemas) {
  const form = make('form');
  for (const { name, schema, description } of operation.parameters ?? []) {
    const input = make('input');
    input.title = description ?? '';
    input.placeholder = (schema.enum ?? []).join(' | ');
    form.append(field(name, input));
  }
  if (operation.requestBody) {
    const area = make('textarea');
    const schema = schemas[nameOf(operation.requestBody.content['application/json']?.schema)];
    if (schema?.examples) area.value = JSON.stringify(schema.examples[0]);
    form.append(field('body', area));
  }
  const output = make('pre');
  form.append(make('button', 'Send'), output);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send(form, path, method.toUpperCase(), operation, output);
  });
  return form;
}

function show(path, method, operation, schemas) {
  const head = make('summary', '', Object.assign(make('span', method), { className: 'method' }), make('code', path), ' ' + operation.summary);
  const details = make('details', '', head);
  details.addEventListener('toggle', () => {
    if (details.children.length > 1) return;
    details.append(formOf(path, method, operation, schemas));
    const named = new Set();
    const body = nameOf(operation.requestBody?.content['application/json']?.schema);
    if (body) { named.add(body); details.append(make('p', 'Takes: ' + body)); }
    for (const [status, { description, content }] of Object.entries(operation.responses)) {
      const name = nameOf(content?.['application/json']?.schema);
      if (name && name !== 'Error') named.add(name);
      details.append(make('p', status + ': ' + (name ?? '') + ' ' + description));
    }
    for (const name of named) details.append(make('details', '', make('summary', name), json(schemas[name])));
  });
  return details;
}

const api = await (await fetch('/openapi.json')).json();
document.querySelector('#version').textContent = api.info.version;
const { schemas } = api.components;
for (const { name } of api.tags) {
  const section = make('section', '', make('h2', name));
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.tags.includes(name)) section.append(show(path, method, operation, schemas));
    }
  }
  document.querySelector('main').append(section);
}
const all = make('section', '', make('h2', 'schemas'));
for (const [name, schema] of Object.entries(schemas)) all.append(make('details', '', make('summary', name), json(schema)));
document.querySelector('main').append(all);
`;

/** Nothing is loaded from elsewhere, and only this script and this style are used. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function docsPage(): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Vivarium</title>
<style>${STYLE}</style>
<h1>Vivarium <small id="version"></small></h1>
<p>The document behind this page: <a href="/openapi.json">/openapi.json</a>.</p>
<label>Key, if the server has any <input id="key" type="password" autocomplete="off"></label>
<main></main>
<script type="module">${SCRIPT}</script>
</html>
`;
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

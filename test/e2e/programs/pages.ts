/** The web server that programs read: a page with a table, a CSV file and a small API. */
import type { IncomingMessage, ServerResponse } from 'node:http';

const PAGE = `<!DOCTYPE html><html><head><title>Countries</title></head><body>
<p>Figures of <b>2023</b>. See the <a href="/prices.csv">prices</a> and <a href="https://example.com/">more</a>.</p>
<table><thead><tr><th>Country</th><th>Population</th><th>Area</th></tr></thead><tbody>
<tr><td>Norway</td><td>5500000</td><td>385207</td></tr>
<tr><td>Italy</td><td>58900000</td><td>301340</td></tr>
<tr><td>Portugal</td><td>10500000</td><td>92212</td></tr>
</tbody></table></body></html>`;
const PRICES = 'date,item,price\n2024-01-01,tea,3.0\n2024-01-02,tea,3.2\n';
const ITEMS = ['apple', 'banana', 'cherry'].map((name, index) => ({ id: index + 1, name }));

export function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const send = (status: number, type: string, body: string): void => {
    response.writeHead(status, { 'content-type': type }).end(body);
  };
  if (pathname === '/countries.html') send(200, 'text/html; charset=utf-8', PAGE);
  else if (pathname === '/prices.csv') send(200, 'text/csv', PRICES);
  else if (pathname !== '/api/items') send(404, 'text/plain', 'no such page');
  else if (request.method === 'POST') send(201, 'application/json', JSON.stringify({ created: true }));
  else send(200, 'application/json', JSON.stringify({ items: ITEMS.slice(0, Number(searchParams.get('limit') ?? 3)) }));
}

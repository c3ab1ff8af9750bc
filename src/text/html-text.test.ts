import { expect, test } from 'vitest';
import { textOfHtml } from './html-text.ts';

test.for([
  ['plain', 'plain'],
  ['<b>bold</b> and <i>not</i>', 'bold and not'],
  ['<h1>Title</h1><p>One\n  line.</p><p>Two</p>', 'Title\nOne line.\nTwo'],
  ['<ul><li>a</li><li>b</li></ul>', 'a\nb'],
  ['<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td></td></tr></table>', 'a | b\n1'],
  ['2 &lt; 3 &amp;&amp; &quot;x&quot; &#8364;&#x41; &unknown; &#99999999;', '2 < 3 && "x" €A &unknown; &#99999999;'],
  ['a<script>alert("</b>")</script>b<style>p{}</style>c<!-- <b>no</b> -->d', 'abcd'],
  ['<SCRIPT>x</SCRIPT>y', 'y'],
  ['1 < 2 and a<b', '1 < 2 and a'],
  ['<script>never closed', ''],
  ['<img src="x.png">', ''],
  ['a<br/>b', 'a\nb'],
] as const)('HTML is told as a browser would show it: %s', ([html, text]) => {
  expect(textOfHtml(html)).toBe(text);
});

test('any document takes linear time, and much of a long one is left out', () => {
  const before = process.cpuUsage();
  for (const part of ['<', '<script', '<!--', '<td></td>', '&', ' ', '</script']) textOfHtml(part.repeat(1_000_000));
  expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
  expect(textOfHtml('x'.repeat(1_000_000)).length).toBe(200_000);
});

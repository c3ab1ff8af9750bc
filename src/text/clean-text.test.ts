import { expect, test } from 'vitest';
import { escapeAnsi } from './clean-text.ts';

const ESC = '\u001b';
const BEL = '\u0007';
const ST = `${ESC}\\`;
const C1 = { CSI: '\u009b', OSC: '\u009d', DCS: '\u0090', ST: '\u009c' };

test.each([
  ['colours', `${ESC}[31mred${ESC}[0m`, 'red'],
  ['colours of the long kind', `${ESC}[38;2;1;2;3mx${ESC}[38:5:196my`, 'xy'],
  ['a traceback', `${ESC}[0;31mZeroDivisionError${ESC}[0m: division by zero`, 'ZeroDivisionError: division by zero'],
  ['private modes', `${ESC}[?25lx${ESC}[?25h`, 'x'],
  ['intermediates', `${ESC}[1 qx${ESC}[!py`, 'xy'],
  ['movement and erasing', `a${ESC}[2K${ESC}[1;1Hb${ESC}[Kc`, 'abc'],
  ['a title that ends with BEL', `${ESC}]0;title${BEL}x`, 'x'],
  ['a title that ends with ST', `${ESC}]2;title${ST}x`, 'x'],
  ['a title that ends with the short ST', `${ESC}]2;title${C1.ST}x`, 'x'],
  ['a link', `${ESC}]8;;https://example.org/${ST}here${ESC}]8;;${ST}.`, 'here.'],
  ['device control', `a${ESC}Pq#0;2${BEL}\n~${ST}b`, 'ab'],
  ['application, privacy and other strings', `${ESC}_Gf=100;AAAA${ST}a${ESC}^p${ST}b${ESC}Xs${ST}c`, 'abc'],
  ['a command passed through', `${ESC}Ptmux;${ESC}${ESC}]0;t${BEL}${ST}x`, 'x'],
  ['two bytes', `${ESC}7a${ESC}8b${ESC}=c${ESC}Md${ESC}ce`, 'abcde'],
  ['character sets', `${ESC}(Ba${ESC})0b${ESC}%Gc${ESC}#8d`, 'abcd'],
  ['short colours', `${C1.CSI}31mred${C1.CSI}0m`, 'red'],
  ['a short title', `${C1.OSC}0;title${BEL}x${C1.DCS}q${C1.ST}y`, 'xy'],
  ['an escape at the end', `x${ESC}`, 'x'],
  ['an unfinished colour at the end', `x${ESC}[31`, 'x'],
  ['a damaged colour', `${ESC}[31émore`, 'émore'],
  ['an escape before a line break', `a${ESC}\nb`, 'a\nb'],
  ['an escape before a letter beyond ASCII', `a${ESC}éb`, 'aéb'],
  ['escapes in a row', `${ESC}${ESC}${ESC}[1mx`, 'x'],
  ['a title that is cut off hides its line only', `${ESC}]0;title\nnext\nlast`, '\nnext\nlast'],
  ['a title that is broken off', `${ESC}]0;ti${ESC}[1mtle`, 'tle'],
])('removed: %s', (_, text, clean) => {
  expect(escapeAnsi(text)).toBe(clean);
});

test.each([
  ['plain text', 'a [31m b ]0; c'],
  ['line ends and tabs', 'a\r\n\tb\fc\vd'],
  ['letters of all kinds', 'Grüße 你好 👨‍👩‍👧 R² ₿'],
  ['brackets that look like sequences', '[0m [1;2H ]8;; \\033[0m'],
  ['a next-line character', 'a\u0085b'],
  ['damaged text', 'it\u0092s \u0096 \u009bHello \u009b1 apple'],
  ['a short title without an end', 'a\u009dtitle and text'],
  ['a short string without an end', 'a\u0090b\u009fc'],
  ['a no-break space', 'a\u00a0b'],
  ['lone surrogates', 'a\ud800b'],
  ['carriage returns, unless they are asked to count', '10%\r20%'],
])('kept: %s', (_, text) => {
  expect(escapeAnsi(text)).toBe(text);
});

test.each([
  ['the last state of a progress bar', ' 10%|█   |\r 50%|██  |\r100%|████|\ndone', '100%|████|\ndone'],
  ['a bar with colours', `\r${ESC}[32m 1%${ESC}[0m\r${ESC}[32m 2%${ESC}[0m`, ' 2%'],
  ['a bar that ends with a carriage return', 'a\rb\r\nc', 'b\nc'],
  ['a bar that was cleared', '50%\r    \r\nc', '\nc'],
  ['line ends of another system', 'a\r\nb\r\n', 'a\nb\n'],
  ['a spinner', '|\b/\b-\b', '-'],
  ['numbers written over', '12%\b\b\b13%\b\b\b14%', '14%'],
  ['overstruck text', 'N\bNA\bA', 'NA'],
  ['more backspaces than characters', 'a\b\b\bb', 'b'],
  ['characters beyond the first plane', '😀\b😁', '😁'],
  ['space at the end of other lines', 'a  \nb\rc', 'a  \nc'],
  ['nothing but carriage returns', '\r\r\r', ''],
])('final lines: %s', (_, text, shown) => {
  expect(escapeAnsi(text, { finalLines: true })).toBe(shown);
});

const LONG = 2 << 20;

test.each([
  ['escapes', ESC],
  ['escapes and letters', `${ESC}é`],
  ['titles that never end', `${ESC}]`],
  ['titles that never end, with line breaks', `${ESC}]0;a\n`],
  ['short titles that never end', C1.OSC],
  ['short titles that never end, with line breaks', `${C1.OSC}\n`],
  ['short colours that never end', `${C1.CSI}1`],
  ['backspaces', 'a\b'],
  ['carriage returns', 'a\r'],
])('takes linear time: %s', (_, unit) => {
  const startedAt = performance.now();
  escapeAnsi(unit.repeat(LONG / unit.length), { finalLines: true });
  escapeAnsi(unit + '1'.repeat(LONG));
  escapeAnsi(unit + 'a\n'.repeat(LONG / 2));
  expect(performance.now() - startedAt).toBeLessThan(3000);
});

test('10 MB of escapes are removed within seconds', () => {
  const startedAt = performance.now();
  expect(escapeAnsi(ESC.repeat(10 << 20))).toBe('');
  expect(performance.now() - startedAt).toBeLessThan(3000);
});

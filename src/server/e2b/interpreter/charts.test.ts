import { expect, test } from 'vitest';
import { toE2bChart } from './charts.ts';

const axis = (label: string | null, scale = 'linear') => ({
  label,
  unit: label === null ? null : 's',
  scale,
  limits: null,
  ticks: [0, 5],
  tickLabels: ['0', '5'],
});
const plot = (type: string, series: object[]) => ({
  type,
  title: 'Speed',
  x: axis('Time (s)'),
  y: axis(null, 'log'),
  series: series as never,
});
const points = [
  [1, 2],
  [3, null],
];

test('lines keep their points and axes, and nameless ones are numbered', () => {
  const series = [
    { type: 'line', label: 'fast', points, count: 2 },
    { type: 'line', label: null, points, count: 2 },
    { type: 'rule', label: null, orientation: 'horizontal', value: 1 },
  ];
  expect(toE2bChart(plot('line', series))).toEqual({
    type: 'line',
    title: 'Speed',
    x_label: 'Time (s)',
    y_label: null,
    x_unit: 's',
    y_unit: null,
    x_ticks: [0, 5],
    x_tick_labels: ['0', '5'],
    x_scale: 'linear',
    y_ticks: [0, 5],
    y_tick_labels: ['0', '5'],
    y_scale: 'log',
    elements: [
      { label: 'fast', points },
      { label: 'Line 1', points },
    ],
  });
});

test('a scatter with a line through it stays a scatter', () => {
  const series = [
    { type: 'scatter', label: 'seen', points, count: 2 },
    { type: 'line', label: 'fit', points, count: 2 },
  ];
  expect(toE2bChart(plot('mixed', series))).toMatchObject({ type: 'scatter', elements: [{ label: 'seen', points }] });
});

test('scales have the names that E2B gives them', () => {
  const dates = { ...plot('line', [{ type: 'line', label: 'a', points, count: 2 }]), x: axis('Day', 'date') };
  expect(toE2bChart(dates)).toMatchObject({ x_scale: 'datetime' });
  const names = { ...axis(null, 'categorical'), ticks: ['a', 'b'], tickLabels: ['a', 'b'] };
  expect(toE2bChart({ ...dates, x: names })).toMatchObject({ x_scale: 'categorical', x_ticks: [0, 1] });
});

test('bars are listed with their groups, and a horizontal chart has its axes swapped', () => {
  const bars = (orientation: string) => [
    {
      type: 'bar',
      label: 'men',
      points: [
        ['a', 1],
        ['b', 2],
      ],
      count: 2,
      orientation,
    },
    { type: 'bar', label: null, points: [[3.5, 4]], count: 1, orientation },
  ];
  const upright = toE2bChart(plot('bar', bars('vertical')));
  expect(upright).toMatchObject({ type: 'bar', x_label: 'Time (s)', y_label: null });
  expect(upright.elements).toEqual([
    { label: 'a', value: 1, group: 'men' },
    { label: 'b', value: 2, group: 'men' },
    { label: '3.5', value: 4, group: 'Group 1' },
  ]);
  expect(toE2bChart(plot('bar', bars('horizontal')))).toMatchObject({
    x_label: null,
    y_label: 'Time (s)',
    y_unit: 's',
  });
});

test('the slices of a pie are angles', () => {
  const series = [
    {
      type: 'pie',
      label: null,
      points: [
        ['a', 1],
        [null, 2],
      ],
      count: 2,
    },
  ];
  expect(toE2bChart({ type: 'pie', title: null, series: series as never })).toEqual({
    type: 'pie',
    title: null,
    elements: [
      { label: 'a', angle: 120, radius: 1 },
      { label: '', angle: 240, radius: 1 },
    ],
  });
});

test('boxes have the names that E2B gives to their parts', () => {
  const box = { label: 'a', minimum: 0, q1: 1, median: 2, q3: 3, maximum: 4, outliers: [9, null], outlierCount: 2 };
  const chart = toE2bChart(
    plot('box', [{ type: 'box', label: null, orientation: 'vertical', boxes: [box], count: 1 }]),
  );
  expect(chart.type).toBe('box_and_whisker');
  expect(chart.elements).toEqual([
    { label: 'a', min: 0, first_quartile: 1, median: 2, third_quartile: 3, max: 4, outliers: [9] },
  ]);
});

test('several plots are a superchart, in which one that cannot be read is unknown', () => {
  const charts = [plot('line', [{ type: 'line', label: 'a', points, count: 2 }]), { type: 'unknown', title: 'Map' }];
  const chart = toE2bChart({ type: 'several', title: 'All', charts });
  expect(chart).toMatchObject({
    type: 'superchart',
    title: 'All',
    elements: [{ type: 'line' }, { type: 'unknown', title: 'Map', elements: [] }],
  });
});

test.each([[null], ['text'], [7], [[]], [{}], [{ type: 'line', title: {}, series: 3 }]])(
  'what is not a chart is unknown: %j',
  (chart) => {
    expect(toE2bChart(chart as never)).toEqual({ type: 'unknown', title: null, elements: [] });
  },
);

test('a plot of kinds that E2B does not put together is unknown', () => {
  const series = [
    { type: 'scatter', label: 'a', points, count: 2 },
    { type: 'bar', label: 'b', points, count: 2, orientation: 'vertical' },
  ];
  expect(toE2bChart(plot('mixed', series))).toEqual({ type: 'unknown', title: 'Speed', elements: [] });
});

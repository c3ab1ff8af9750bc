/** The data behind a picture in the shape that E2B's SDKs read. What a session says about its charts is hostile. */
import { z } from 'zod';
import type { Json } from '../../../execution/execution.ts';

/** A chart as E2B's SDKs read it; what else it has depends on its type. */
export interface E2bChart {
  readonly type: 'line' | 'scatter' | 'bar' | 'pie' | 'box_and_whisker' | 'superchart' | 'unknown';
  readonly title: string | null;
  readonly elements: readonly unknown[];
  readonly [field: string]: unknown;
}

const Value = z.union([z.string(), z.number(), z.null()]);
const Label = z.string().nullish();
const Points = z.array(z.tuple([Value, Value]));

const Axis = z.object({
  label: Label,
  unit: Label,
  scale: z.string(),
  ticks: z.array(Value),
  tickLabels: z.array(z.string()),
});

const Orientation = z.enum(['vertical', 'horizontal']);
const Box = z.object({
  label: z.string(),
  minimum: z.number(),
  q1: z.number(),
  median: z.number(),
  q3: z.number(),
  maximum: z.number(),
  outliers: z.array(z.number().nullable()),
});
const Series = z.discriminatedUnion('type', [
  z.object({ type: z.literal('line'), label: Label, points: Points }),
  z.object({ type: z.literal('scatter'), label: Label, points: Points }),
  z.object({ type: z.literal('bar'), label: Label, points: Points, orientation: Orientation }),
  z.object({ type: z.literal('pie'), points: Points }),
  z.object({ type: z.literal('box'), boxes: z.array(Box), orientation: Orientation }),
  z.object({ type: z.literal('rule') }),
]);
type Series = z.infer<typeof Series>;
type SeriesOf<T extends Series['type']> = Extract<Series, { type: T }>;

const Plot = z.object({ title: Label, x: Axis.optional(), y: Axis.optional(), series: z.array(Series) });
type Plot = z.infer<typeof Plot>;
const Several = z.object({ type: z.literal('several'), title: Label, charts: z.array(z.unknown()) });
const Titled = z.object({ title: Label });

/** What cannot be read is `unknown`, as it is with E2B. */
export function toE2bChart(chart: Json): E2bChart {
  const several = Several.safeParse(chart).data;
  if (several !== undefined) {
    const elements = several.charts.map((one) => toPlotChart(one));
    return { type: 'superchart', title: several.title ?? null, elements };
  }
  return toPlotChart(chart);
}

function toPlotChart(chart: unknown): E2bChart {
  const plot = Plot.safeParse(chart).data;
  if (plot === undefined) return unknownChart(Titled.safeParse(chart).data?.title ?? null);
  switch (kindOf(plot.series)) {
    case 'line':
      return { ...describePoints(plot), type: 'line', elements: namePoints(only(plot.series, 'line'), 'Line') };
    case 'scatter':
      return {
        ...describePoints(plot),
        type: 'scatter',
        elements: namePoints(only(plot.series, 'scatter'), 'Scatter'),
      };
    case 'bar':
      return toBarChart(plot, only(plot.series, 'bar'));
    case 'pie':
      return { type: 'pie', title: plot.title ?? null, elements: only(plot.series, 'pie').flatMap(toSlices) };
    case 'box':
      return toBoxChart(plot, only(plot.series, 'box'));
    case null:
      return unknownChart(plot.title ?? null);
  }
}

/** Lines in a plot of another kind, such as a mean across bars, do not change its kind. */
function kindOf(series: readonly Series[]): Exclude<Series['type'], 'rule'> | null {
  const types = new Set(series.map(({ type }) => (type === 'rule' ? 'line' : type)));
  if (types.size > 1) types.delete('line');
  const [first, second] = types;
  return second === undefined ? (first ?? null) : null;
}

function only<T extends Series['type']>(series: readonly Series[], type: T): SeriesOf<T>[] {
  return series.filter((one): one is SeriesOf<T> => one.type === type);
}

function unknownChart(title: string | null): E2bChart {
  return { type: 'unknown', title, elements: [] };
}

type AxesFields = Readonly<Record<string, unknown>> & Pick<E2bChart, 'title'>;

/** E2B names what lies along a horizontal bar as if the bar stood upright. */
function describeAxes({ title, x, y }: Plot, isTurned = false): AxesFields {
  const [across, up] = isTurned ? [y, x] : [x, y];
  return {
    title: title ?? null,
    x_label: across?.label ?? null,
    y_label: up?.label ?? null,
    x_unit: across?.unit ?? null,
    y_unit: up?.unit ?? null,
  };
}

function describePoints(plot: Plot): AxesFields {
  return { ...describeAxes(plot), ...describeScale('x', plot.x), ...describeScale('y', plot.y) };
}

function describeScale(name: 'x' | 'y', axis: z.infer<typeof Axis> | undefined): Record<string, unknown> {
  const { scale, ticks, tickLabels } = axis ?? { scale: 'unknown', ticks: [], tickLabels: [] };
  return {
    [`${name}_ticks`]: scale === 'categorical' ? ticks.map((_, index) => index) : ticks,
    [`${name}_tick_labels`]: tickLabels,
    [`${name}_scale`]: scale === 'date' ? 'datetime' : scale,
  };
}

function namePoints(series: readonly SeriesOf<'line' | 'scatter'>[], kind: string): object[] {
  return series.map(({ label, points }, index) => ({ label: label ?? `${kind} ${index}`, points }));
}

function toBarChart(plot: Plot, bars: readonly SeriesOf<'bar'>[]): E2bChart {
  const elements = bars.flatMap(({ label, points }, index) =>
    points.map(([name, value]) => ({ label: String(name ?? ''), value, group: label ?? `Group ${index}` })),
  );
  return { ...describeAxes(plot, bars[0]?.orientation === 'horizontal'), type: 'bar', elements };
}

function toBoxChart(plot: Plot, series: readonly SeriesOf<'box'>[]): E2bChart {
  const elements = series.flatMap(({ boxes }) =>
    boxes.map(({ label, minimum, q1, median, q3, maximum, outliers }) => ({
      label,
      min: minimum,
      first_quartile: q1,
      median,
      third_quartile: q3,
      max: maximum,
      outliers: outliers.filter((one) => one !== null),
    })),
  );
  return { ...describeAxes(plot, series[0]?.orientation === 'horizontal'), type: 'box_and_whisker', elements };
}

function toSlices({ points }: SeriesOf<'pie'>): object[] {
  const sizes = points.map(([, value]) => Number(value ?? 0));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return points.map(([label], index) => ({
    label: String(label ?? ''),
    angle: total === 0 ? 0 : round((360 * (sizes[index] ?? 0)) / total),
    radius: 1,
  }));
}

/** Without the last digits, which are rounding errors. */
function round(angle: number): number {
  return Number(angle.toPrecision(12));
}

/** A color by its role in the theme. */
export type ChartTone = 'accent' | 'good' | 'bad' | 'warn' | 'busy' | 'muted';

export interface ChartSeries {
  label: string;
  tone: ChartTone;
  /** One for each label, in their order; null where nothing was measured. */
  values: readonly (number | null)[];
}

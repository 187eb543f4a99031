/** Weeks and days in the viewer's zone. Days begin at midnight, weeks on Monday. */

/** @returns the Monday of the week in which an instant lies */
export function mondayOf(at: Date): Date {
  const day = new Date(at.getFullYear(), at.getMonth(), at.getDate());
  day.setDate(day.getDate() - ((day.getDay() + 6) % 7));
  return day;
}

export const addDays = (day: Date, days: number): Date =>
  new Date(day.getFullYear(), day.getMonth(), day.getDate() + days);

/** A day as it stands in an address: `2026-11-25`. */
export const dateText = (day: Date): string =>
  `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, '0')}-${String(day.getDate()).padStart(2, '0')}`;

/** @returns the day that a text names, or undefined */
export function readDate(text: string | undefined): Date | undefined {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text ?? '') ?? [];
  return year === undefined ? undefined : new Date(Number(year), Number(month) - 1, Number(day));
}

export interface Interval {
  start: string;
  end: string;
}

interface Placed<Item> {
  item: Item;
  /** Minutes from midnight. */
  from: number;
  to: number;
  /** Which of the columns that overlapping items share, and how many there are. */
  column: number;
  columns: number;
}

/** @returns the items of one day, side by side where they overlap */
export function placeInDay<Item extends Interval>(items: readonly Item[], day: Date): Placed<Item>[] {
  const next = addDays(day, 1);
  // By the clock: a day on which it is changed has an hour less or more.
  const minutes = (at: Date) => at.getHours() * 60 + at.getMinutes();
  const ofDay = items
    .map((item) => ({ item, begin: new Date(item.start), end: new Date(item.end) }))
    .filter(({ begin, end }) => begin < next && end > day)
    .map(({ item, begin, end }) => ({
      item,
      from: begin < day ? 0 : minutes(begin),
      to: end >= next ? 24 * 60 : minutes(end),
      column: 0,
      columns: 1,
    }))
    .map((placed) => Object.assign(placed, { to: Math.max(placed.from, placed.to) }))
    .toSorted((one, other) => one.from - other.from);
  let group: Placed<Item>[] = [];
  let groupEnd = 0;
  for (const placed of ofDay) {
    if (placed.from >= groupEnd) {
      group = [];
      groupEnd = 0;
    }
    const taken = new Set(group.filter(({ to }) => to > placed.from).map(({ column }) => column));
    while (taken.has(placed.column)) placed.column++;
    group.push(placed);
    groupEnd = Math.max(groupEnd, placed.to);
    const columns = Math.max(...group.map(({ column }) => column)) + 1;
    for (const one of group) one.columns = columns;
  }
  return ofDay;
}

import { describe, expect, test } from '@jest/globals';
import { dayNumber, writeDay } from './calendar-date.ts';
import { isHolidayCode, publicHolidays } from './holidays.ts';

const now = Date.UTC(2026, 10, 22);
const holidays = async (codes: string[], from: string, to = from, pause = async () => {}) => {
  const days = await publicHolidays(codes, [{ from: dayNumber(from), to: dayNumber(to) }], now, pause);
  const asked = [...days].filter((day) => day >= dayNumber(from) && day <= dayNumber(to));
  return asked.sort((a, b) => a - b).map(writeDay);
};

describe('a code of holidays', () => {
  test.each(['US', 'us', 'DE', 'DE-BY', 'de-by', 'GB-SCT'])('%s is one', (code) =>
    expect(isHolidayCode(code)).toBe(true),
  );
  test.each(['XX', 'DE-XX', '', 'USA', 'DE-', 'DE-BY-A', 'constructor'])('%p is none', (code) => {
    expect(isHolidayCode(code)).toBe(false);
  });
});

describe('public holidays', () => {
  test('are those of all codes, substitute days and subdivisions included', async () => {
    expect(await holidays(['US'], '2040-07-01', '2040-07-31')).toEqual(['2040-07-04']);
    // January 1 is a Sunday.
    expect(await holidays(['us'], '2040-01-01', '2040-01-05')).toEqual(['2040-01-01', '2040-01-02']);
    expect(await holidays(['DE'], '2040-01-06')).toEqual([]);
    expect(await holidays(['DE', 'de-by'], '2040-01-01', '2040-01-10')).toEqual(['2040-01-01', '2040-01-06']);
  });

  test('cover all their days, over new year too', async () => {
    expect(await holidays(['SZ'], '2031-12-28', '2032-01-02')).toHaveLength(6);
    expect(await holidays(['SZ'], '2032-01-02')).toEqual(['2032-01-02']);
  });

  test('are no others: Mother’s Day is kept, but not off', async () => {
    expect(await holidays(['US'], '2040-05-13')).toEqual([]);
  });

  test('are known from ten years ago until forty years ahead', async () => {
    expect(await holidays(['US'], '2066-12-25')).toEqual(['2066-12-25']);
    expect(await holidays(['US'], '2067-12-25')).toEqual([]);
    expect(await holidays(['US'], '2015-12-25')).toEqual([]);
  });

  test('are computed once, and others go on before each computation', async () => {
    let pauses = 0;
    const count = () => {
      pauses++;
      return Promise.resolve();
    };
    await holidays(['NO', 'SE'], '2033-06-01', '2034-06-01', count);
    expect(pauses).toBe(4);
    await holidays(['no', 'se'], '2033-06-01', '2034-06-01', count);
    expect(pauses).toBe(4);
  });
});

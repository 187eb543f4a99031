import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { planNames } from '../../tenancy/core/plans.ts';
import { currentGrant, isGrantDue, monthlyGrant, nextGrantAt, type Standing } from './grants.ts';

const live = (plan: Standing['plan'], ownGrant: number | null = null): Standing => ({
  environment: 'live',
  plan,
  ownGrant,
});
const testEnvironment: Standing = { environment: 'test', plan: 'pro', ownGrant: null };
const at = (time: string) => new Date(time);

describe('grants', () => {
  test.each([
    ['free', 100],
    ['pro', 1_000],
    ['team', 5_000],
    ['enterprise', 10_000],
  ] as const)('the plan %s gives %d credits a month', (plan, credits) => {
    expect(monthlyGrant(live(plan))).toBe(credits);
    expect(monthlyGrant({ ...live(plan), environment: 'test' })).toBe(0);
  });

  test('only an Enterprise organization has a number of its own, which may be zero', () => {
    expect(monthlyGrant(live('enterprise', 77_000))).toBe(77_000);
    expect(monthlyGrant(live('enterprise', 0))).toBe(0);
    expect(monthlyGrant(live('free', 77_000))).toBe(100);
  });

  test('months are UTC months', () => {
    expect(currentGrant(live('pro'), at('2026-11-30T23:59:59.999Z'))).toEqual({
      period: '2026-11',
      amount: 1_000,
      lasts: false,
    });
    expect(currentGrant(live('pro'), at('2026-12-01T00:00:00.000Z')).period).toBe('2026-12');
    expect(nextGrantAt('live', at('2026-12-31T23:59:59.999Z'))).toEqual(at('2027-01-01T00:00:00.000Z'));
    expect(nextGrantAt('live', at('2024-02-29T12:00:00.000Z'))).toEqual(at('2024-03-01T00:00:00.000Z'));
  });

  test('the test grant comes once and stays', () => {
    const grant = currentGrant(testEnvironment, at('2026-11-02T00:00:00.000Z'));
    expect(grant).toEqual({ period: 'once', amount: 10_000, lasts: true });
    expect(nextGrantAt('test', at('2026-11-02T00:00:00.000Z'))).toBeNull();
    expect(isGrantDue(undefined, grant)).toBe(true);
    expect(isGrantDue({ period: 'once', periodGrant: 10_000 }, grant)).toBe(false);
  });

  const times = fc.date({
    min: at('2000-01-01T00:00:00.000Z'),
    max: at('2100-01-01T00:00:00.000Z'),
    noInvalidDate: true,
  });
  const standings = fc.record({
    environment: fc.constantFrom('live' as const, 'test' as const),
    plan: fc.constantFrom(...planNames),
    ownGrant: fc.option(fc.nat(100_000)),
  });

  test('what was given is not due again: neither later in its period nor for a clock that is behind', () => {
    fc.assert(
      fc.property(standings, times, times, (standing, one, other) => {
        const [earlier, later] = one < other ? [one, other] : [other, one];
        const { period, amount } = currentGrant(standing, later);
        const given = { period, periodGrant: amount };
        expect(isGrantDue(given, currentGrant(standing, later))).toBe(false);
        expect(isGrantDue(given, currentGrant(standing, earlier))).toBe(false);
      }),
    );
  });

  test('a grant is due from its month on, and a larger plan is due the rest at once', () => {
    fc.assert(
      fc.property(times, fc.constantFrom(...planNames), fc.constantFrom(...planNames), (now, before, after) => {
        const { period, amount } = currentGrant(live(before), now);
        const given = { period, periodGrant: amount };
        const next = nextGrantAt('live', now)!;
        expect(isGrantDue(given, currentGrant(live(before), next))).toBe(true);
        expect(isGrantDue(given, currentGrant(live(before), new Date(next.getTime() - 1)))).toBe(false);
        const isLarger = monthlyGrant(live(after)) > monthlyGrant(live(before));
        expect(isGrantDue(given, currentGrant(live(after), now))).toBe(isLarger);
      }),
    );
  });
});

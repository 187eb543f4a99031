import { describe, expect, test } from '@jest/globals';
import { afterFailure, type ReportedFailure } from './after-failure.ts';

const limits = { maximumAttempts: 3, firstPauseMs: 500, pausesMs: 5_000 };
const following = (
  failure: ReportedFailure,
  tried: { attempts?: number; pausedMs?: number; repeatable?: boolean } = {},
) => afterFailure(failure, { attempts: 1, pausedMs: 0, repeatable: false, ...tried }, limits);
const failed = { code: 'action_failed', outcome: 'failed' };

describe('what follows from a failure of a provider', () => {
  test('a pause that it asks for is made, up to five seconds in all', () => {
    expect(following({ kind: 'rate_limited', retryAfterSeconds: 5 })).toEqual({ pauseMs: 5_000 });
    expect(following({ kind: 'rate_limited', retryAfterSeconds: 3 }, { attempts: 2, pausedMs: 2_000 })).toEqual({
      pauseMs: 3_000,
    });
    for (const [retryAfterSeconds, tried] of [
      [6, {}],
      [3, { attempts: 2, pausedMs: 2_001 }],
      [1, { attempts: 3 }],
    ] as const) {
      expect(following({ kind: 'rate_limited', retryAfterSeconds }, tried)).toEqual({
        failure: { code: 'rate_limited', retryAfter: retryAfterSeconds },
      });
    }
  });

  test('a caller is asked to wait a minute if the provider gives no time, and at most an hour', () => {
    expect(following({ kind: 'rate_limited' })).toEqual({ failure: { code: 'rate_limited', retryAfter: 60 } });
    const failure = { code: 'rate_limited', retryAfter: 3_600 };
    expect(following({ kind: 'rate_limited', retryAfterSeconds: 86_400 })).toEqual({ failure });
  });

  test('what was certainly not done is tried three times', () => {
    const pauses = [1, 2].map((attempts) => following({ kind: 'not_done' }, { attempts }));
    expect(pauses).toEqual([{ pauseMs: 500 }, { pauseMs: 1_500 }]);
    expect(following({ kind: 'not_done', providerCode: 'busy' }, { attempts: 3 })).toEqual({
      failure: { ...failed, providerCode: 'busy' },
    });
  });

  test('what may have been done is asked again only where it changes nothing', () => {
    expect(following({ kind: 'lost' })).toEqual({ failure: { code: 'action_failed', outcome: 'unknown' } });
    expect(following({ kind: 'lost' }, { repeatable: true })).toEqual({ pauseMs: 500 });
    expect(following({ kind: 'lost' }, { repeatable: true, attempts: 3 })).toEqual({ failure: failed });
  });

  test('what would fail again is final', () => {
    expect(following({ kind: 'auth_expired' }, { repeatable: true })).toEqual({ failure: { code: 'auth_expired' } });
    expect(following({ kind: 'action_failed', providerCode: 'CONFLICT' })).toEqual({
      failure: { ...failed, providerCode: 'CONFLICT' },
    });
    const errors = Array.from({ length: 30 }, (_, at) => ({ path: `blocks.${at}`, message: 'Not a block.' }));
    const { failure } = following({ kind: 'invalid_payload', errors }) as { failure: { errors: object[] } };
    expect(failure).toMatchObject({ code: 'invalid_payload' });
    expect(failure.errors).toEqual(errors.slice(0, 20));
  });
});

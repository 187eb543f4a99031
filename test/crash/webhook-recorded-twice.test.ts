import { expect, jest, test } from '@jest/globals';
import { Scope } from '../../src/platform/database/scope.ts';
import { type AttemptOutcome, loadAttempts } from '../../src/webhooks/dispatch/attempt.ts';
import { recordAttempts } from '../../src/webhooks/dispatch/record-attempts.ts';
import { deliveryPolicy, withDeliveries } from './delivery-scene.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

test('a failure whose record was committed while its answer was lost counts once; a success counts however late', () =>
  withDeliveries(async (scene) => {
    const { product } = scene;
    const { database } = product;
    // Only the test makes attempts.
    const { api } = await product.start(['api']);
    const { id } = await scene.subscribe(api, undefined, { maxAttempts: 3 });
    const delivery = await scene.sendTest(api, id);
    const { rows } = await database.pool.query('select organization_id, environment from delivery');
    const { organization_id: organizationId, environment } = rows[0];
    const scope = new Scope(database, { organizationId, environment }, 'test');
    const ended = async (status: number): Promise<AttemptOutcome> => {
      const [work] = await loadAttempts(scope, [delivery]);
      const answer = { responseBody: null, responseBodyTruncated: false };
      return { work: work!, result: { status }, startedAt: new Date(), durationMs: 1, ...answer };
    };
    const record = (outcome: AttemptOutcome) => recordAttempts(scope, [outcome], deliveryPolicy);

    const [failure, success] = [await ended(500), await ended(200)];
    expect(await record(failure)).toMatchObject([{ status: 'retrying' }]);
    expect(await record(failure)).toEqual([]);
    expect(await scene.rows()).toMatchObject([{ status: 'retrying', attempts: 1 }]);
    // Made at the same time, by a process whose lease had ended.
    expect(await record(success)).toMatchObject([{ status: 'delivered' }]);
    expect(await record(success)).toEqual([]);
    expect(await record(await ended(500))).toEqual([]);
    expect(await scene.rows()).toMatchObject([{ status: 'delivered', attempts: 2 }]);
    const { rows: logged } = await database.pool.query('select status_code from delivery_attempt order by number');
    expect(logged.map(({ status_code }) => status_code)).toEqual([500, 200]);
  }));

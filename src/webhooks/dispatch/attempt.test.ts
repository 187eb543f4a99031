import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { AddressRanges } from '../../platform/egress/address-ranges.ts';
import { Egress } from '../../platform/egress/egress.ts';
import { newId } from '../../platform/ids.ts';
import { openLog } from '../../platform/observability/log.ts';
import { Sealer } from '../../platform/security/crypto.ts';
import { testWebhook } from '../core/events.ts';
import { sealedColumn } from '../subscriptions/subscription-secrets.ts';
import { type AttemptWork, makeAttempt } from './attempt.ts';
import { defaultDeliveryPolicy } from './delivery-policy.ts';
import { newSecret } from './signing-keys.ts';

/** A fault of ours, wherever it is. */
class BrokenEgress extends Egress {
  override request(): Promise<never> {
    return Promise.reject(new TypeError('undefined is not a function'));
  }
}

test('an unexpected error is a failure like any other; an aborted attempt is none', async () => {
  const sealer = new Sealer(`k1:${randomBytes(32).toString('base64')}`);
  const egress = new BrokenEgress({ httpsOnly: true, allowed: new AddressRanges([]), denied: new AddressRanges([]) });
  const log = openLog('silent', 'test', { secrets: [] });
  const events = new Map([[testWebhook.type, testWebhook]]);
  const services = { events, egress, sealer, log, webhookBrand: 'Service', deliveryPolicy: defaultDeliveryPolicy };
  const tenant = { organizationId: newId(), environment: 'test' as const };
  const [subscriptionId, eventId] = [newId(), newId()];
  const work: AttemptWork = {
    deliveryId: newId(),
    subscriptionId,
    maxAttempts: 3,
    hasFailed: false,
    attempts: 0,
    scheduleAttempts: 0,
    url: 'https://hooks.example.com',
    integration: null,
    subject: null,
    payload: 'full',
    signature: 'hmac',
    sealedHeaders: null,
    sealedPreviousSecret: null,
    sealedOlderSecret: null,
    sealedSecret: sealer.seal(newSecret(), sealedColumn('sealed_secret', subscriptionId, tenant)),
    eventId,
    isTest: false,
    eventType: 'test.webhook',
    facts: { webhookId: subscriptionId, message: '' },
    eventCreatedAt: new Date(),
    correlationId: 'its-cause',
  };
  const outcome = await makeAttempt(services, tenant, work);
  expect(outcome).toMatchObject({ result: { errorClass: 'unforeseen' }, responseBody: null });
  const cut = AbortSignal.abort(new Error('The process stops.'));
  await expect(makeAttempt(services, tenant, work, cut)).rejects.toThrow(TypeError);
});

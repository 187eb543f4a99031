import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

/** A tenant whose events are recorded: see recording.ts. */
export const EventRecording = defineEntity({
  name: 'EventRecording',
  tableName: 'event_recording',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    recordedUntil: p.datetime(),
  },
});

/** Which transactions had ended at a time: all with a lower number. */
export const TransactionClock = defineEntity({
  name: 'TransactionClock',
  tableName: 'transaction_clock',
  properties: {
    at: p.datetime().primary(),
    transactionNumber: p.bigint(),
  },
});
